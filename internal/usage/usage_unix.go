//go:build unix

package usage

import (
	"runtime"
	"syscall"
	"time"
)

// CPU returns the CPU time that all threads of the process have used, user and
// system.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakMemory returns the peak memory of the process in bytes.
func PeakMemory() int64 {
	// On Linux, Maxrss includes the peak of the parent process before exec.
	if peak := PeakOf("self"); peak > 0 {
		return peak
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // bytes on macOS, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}
