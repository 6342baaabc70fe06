package controlplane

import "syscall"

// childAttributes sets a separate process group, so that an interrupt on the terminal reaches only the
// supervisor, which stops the components in order. It also makes the kernel kill the child when this
// process ends in any way.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
