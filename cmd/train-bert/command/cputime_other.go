//go:build !unix

package command

import "time"

// cpuTime is not known here.
func cpuTime() time.Duration { return 0 }
