//go:build unix

package store

import (
	"sync"
	"syscall"
)

// umask returns the process's umask. It is read only once, because the system
// call that reads it also changes it.
var umask = sync.OnceValue(func() fsMode {
	m := syscall.Umask(0o077)
	syscall.Umask(m)
	return fsMode(m)
})
