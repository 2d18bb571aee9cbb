package untested

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tellGoCommand waits until the go command that runs this test runs nothing
// else, and writes a line to its standard error.
func tellGoCommand(t *testing.T, line string) {
	parent := os.Getppid()
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", parent)); err != nil || filepath.Base(exe) != "go" {
		return
	}
	out, err := standardError(parent)
	if err != nil {
		t.Log(err)
		return
	}
	defer out.Close()
	waitForSiblings(t, parent)
	out.WriteString(line)
}

// standardError opens the standard error of another process: the same open file
// where the kernel allows it, or else the terminal or pipe by its name. Another
// opening of a regular file would be overwritten.
func standardError(pid int) (*os.File, error) {
	if process, err := unix.PidfdOpen(pid, 0); err == nil {
		defer unix.Close(process)
		if fd, err := unix.PidfdGetfd(process, 2, 0); err == nil {
			return os.NewFile(uintptr(fd), "stderr of go"), nil
		}
	}
	name := fmt.Sprintf("/proc/%d/fd/2", pid)
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeCharDevice) == 0 {
		return nil, fmt.Errorf("%s is no terminal and no pipe", name)
	}
	return os.OpenFile(name, os.O_WRONLY, 0)
}

// waitForSiblings waits until a process has had no child but this one for a
// while: between building and running a test there are none for moments.
func waitForSiblings(t *testing.T, parent int) {
	end := time.Now().Add(time.Hour)
	if d, ok := t.Deadline(); ok {
		end = d.Add(-time.Minute)
	}
	for quiet := 0; quiet < 15 && time.Now().Before(end); quiet++ {
		if hasOtherChild(parent) {
			quiet = 0
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func hasOtherChild(parent int) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		// pid (name) state ppid …; a name may hold spaces and brackets.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		pid := filepath.Base(filepath.Dir(name))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) && pid != strconv.Itoa(os.Getpid()) {
			return true
		}
	}
	return false
}
