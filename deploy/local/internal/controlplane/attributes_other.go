//go:build !linux

package controlplane

import "syscall"

// childAttributes sets a separate process group, so that an interrupt on the terminal reaches only the
// supervisor, which stops the components in order. On this system there is no signal for the death of a
// parent; see EndWithParent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
