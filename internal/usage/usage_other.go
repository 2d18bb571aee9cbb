//go:build !unix

package usage

import "time"

// CPU returns 0: unknown on this system.
func CPU() time.Duration { return 0 }

// PeakMemory returns 0: unknown on this system.
func PeakMemory() int64 { return 0 }
