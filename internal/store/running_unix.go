//go:build unix

package store

import (
	"errors"
	"syscall"
)

// running reports whether a process of this machine runs.
func running(pid int) bool {
	return pid <= 0 || !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
