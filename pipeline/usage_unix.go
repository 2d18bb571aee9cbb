//go:build unix

package pipeline

import (
	"runtime"
	"syscall"
	"time"
)

// cpuTime returns the processor time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// peakRSS returns the most memory that the process has held, in bytes.
func peakRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}
