//go:build unix

package usage

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// CPU returns the processor time that the process has used, all threads.
func CPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakMemory returns the most memory that the process has held, in bytes.
func PeakMemory() int64 {
	// Linux counts into Maxrss what the process held that started this one.
	if b, err := os.ReadFile("/proc/self/status"); err == nil {
		var kilobytes int64
		_, mark, _ := strings.Cut(string(b), "VmHWM:")
		if n, _ := fmt.Sscan(mark, &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return int64(u.Maxrss) << 10
}
