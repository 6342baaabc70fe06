package controlplane

import "syscall"

// childAttributes: an own process group, so that an interrupt on the terminal
// reaches the supervisor only and the components stop in order; and an end with us,
// however we end.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
