// Package usage reports the CPU time and the peak memory of processes.
package usage

import (
	"fmt"
	"os"
	"strings"
)

// PeakOf returns the peak memory of a process in bytes, 0 if it is unknown. pid is its
// number, or "self".
func PeakOf(pid string) int64 {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0
	}
	var kilobytes int64
	_, mark, _ := strings.Cut(string(b), "VmHWM:")
	if n, _ := fmt.Sscan(mark, &kilobytes); n == 0 {
		return 0
	}
	return kilobytes << 10
}
