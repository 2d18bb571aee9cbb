//go:build unix

package store

import (
	"sync"
	"syscall"
)

// umask returns the file mode bits that the user does not want set. The kernel
// tells it only by setting it, so it is asked once.
var umask = sync.OnceValue(func() fsMode {
	m := syscall.Umask(0o077)
	syscall.Umask(m)
	return fsMode(m)
})
