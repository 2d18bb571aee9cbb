//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

// hold marks a file as used by this process until release is called or the
// process ends. On a file system without locks it does nothing.
func hold(path string) (release func()) {
	f, err := os.OpenFile(path, os.O_RDWR, 0) // NFS locks only files that are open for writing
	if err != nil {
		return func() {}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return func() {}
	}
	return func() { f.Close() }
}

// isHeld reports whether a running process has marked a file with hold.
func isHeld(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}
