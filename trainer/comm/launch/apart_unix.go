//go:build unix && !linux

package launch

import "syscall"

// apart puts a rank into a process group of its own, so that Ctrl-C reaches it only once,
// through Run.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
