//go:build unix

package launch

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// reporting creates a pipe for the reports of the rank that c will start, and passes it
// to the rank. It returns the read end, and the write end, which the caller closes once
// the rank has started.
func reporting(c *exec.Cmd) (read, write *os.File, err error) {
	if read, write, err = os.Pipe(); err != nil {
		return nil, nil, err
	}
	const firstExtra = 3 // after standard input, output and error
	c.Env = append(c.Env, progressVariable+"="+strconv.Itoa(firstExtra+len(c.ExtraFiles)))
	c.ExtraFiles = append(c.ExtraFiles, write)
	return read, write, nil
}

// keepToSelf prevents processes that this one starts from inheriting a descriptor.
func keepToSelf(fd int) { syscall.CloseOnExec(fd) }
