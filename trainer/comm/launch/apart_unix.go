//go:build unix && !linux

package launch

import "syscall"

// apart returns attributes that start a rank in its own process group, so that Ctrl-C
// reaches it only once, through Run.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
