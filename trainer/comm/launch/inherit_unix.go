//go:build unix

package launch

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// reporting gives a rank that is about to start a descriptor to report by. It returns
// the end to read from, and the other end, to close once the rank has started.
func reporting(c *exec.Cmd) (read, write *os.File, err error) {
	if read, write, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	const firstExtra = 3 // after standard input, output and error
	c.Env = append(c.Env, progressVariable+"="+strconv.Itoa(firstExtra+len(c.ExtraFiles)))
	c.ExtraFiles = append(c.ExtraFiles, write)
	return read, write, nil
}

// keepToSelf keeps a descriptor from processes that this one starts.
func keepToSelf(fd int) { syscall.CloseOnExec(fd) }
