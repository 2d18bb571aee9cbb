package launch

import "syscall"

// apart returns attributes that start a rank in its own process group, so that Ctrl-C
// reaches it only once, through Run. Linux kills the rank when this process ends.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
