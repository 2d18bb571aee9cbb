//go:build unix

package store

import (
	"errors"
	"syscall"
)

// running reports whether this machine has a running process with the given PID.
func running(pid int) bool {
	return pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
