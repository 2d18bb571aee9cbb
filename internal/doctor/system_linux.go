package doctor

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// systemMemory returns the free and total memory in bytes, from /proc/meminfo. If the
// control group's limit is lower, as in a container, that limit is used. ok is false if the
// memory is unknown.
func systemMemory() (free, total int64, ok bool) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, 0, false
	}
	defer f.Close()
	free, total, ok = parseMeminfo(f)
	var limit, used int64
	if readNumber("/sys/fs/cgroup/memory.max", &limit) && limit < total {
		total = limit
		if readNumber("/sys/fs/cgroup/memory.current", &used) {
			free = max(0, min(free, limit-used))
		}
	}
	return free, total, ok
}

func parseMeminfo(r io.Reader) (free, total int64, ok bool) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		name, rest, _ := strings.Cut(s.Text(), ":")
		var kib int64
		if _, err := fmt.Sscanf(strings.TrimSpace(rest), "%d kB", &kib); err != nil || kib < 0 || kib > math.MaxInt64/1024 {
			continue
		}
		switch name {
		case "MemTotal":
			total = kib * 1024
		case "MemAvailable":
			free = kib * 1024
		}
	}
	return free, total, total > 0 && free > 0
}

// readNumber reads the number in a file into n. It returns false if that fails.
func readNumber(path string, n *int64) bool {
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	_, err = fmt.Sscan(string(b), n)
	return err == nil
}

// openFiles returns the maximum number of files that the process may have open.
// ok is false if it is unknown.
func openFiles() (n uint64, ok bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return l.Cur, err == nil
}

// fileSize returns the maximum size of a file that the process may write; ok is
// false if unlimited.
func fileSize() (n int64, ok bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l)
	return int64(min(l.Cur, math.MaxInt64)), err == nil && l.Cur != unix.RLIM_INFINITY
}
