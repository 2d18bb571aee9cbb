package launch

import "syscall"

// apart puts a rank into a process group of its own, so that Ctrl-C reaches it only once,
// through Run; and has it killed when this process ends.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
