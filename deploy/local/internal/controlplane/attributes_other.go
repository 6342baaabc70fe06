//go:build !linux

package controlplane

import "syscall"

// childAttributes: an own process group, so that an interrupt on the terminal
// reaches the supervisor only and the components stop in order. There is no signal
// for the death of a parent here: see EndWithParent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
