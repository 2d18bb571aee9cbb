//go:build !unix

package launch

import (
	"os"
	"os/exec"
)

// reporting tells a rank that it cannot report progress. Systems without signals do not
// need the reports: Run does not wait for checkpoints there.
func reporting(c *exec.Cmd) (read, write *os.File, err error) {
	c.Env = append(c.Env, progressVariable+"="+noDescriptor)
	return nil, nil, nil
}

// keepToSelf does nothing.
func keepToSelf(int) {}
