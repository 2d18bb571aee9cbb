package store

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

var aligned = func(size int64, p []byte) bool {
	return size%directAlignment == 0 && len(p)%directAlignment == 0 && uintptr(unsafe.Pointer(unsafe.SliceData(p)))%directAlignment == 0
}

// setDirect makes the next writes bypass the page cache, or no longer. It returns false if
// this is not possible, or if the file system is not ext4: only there savings were measured,
// and others may compress what passes the page cache.
func setDirect(f *os.File, on bool) bool {
	fd := int(f.Fd())
	if on {
		var s unix.Statfs_t
		if err := unix.Fstatfs(fd, &s); err != nil || s.Type != unix.EXT4_SUPER_MAGIC {
			return false
		}
	}
	flags, err := fcntl(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	if flags &^= unix.O_DIRECT; on {
		flags |= unix.O_DIRECT
	}
	_, err = fcntl(uintptr(fd), unix.F_SETFL, flags)
	return err == nil
}

var fcntl = unix.FcntlInt

// refused reports whether a write failed because it was to bypass the page cache.
func refused(err error) bool { return errors.Is(err, unix.EINVAL) }
