//go:build !unix

package usage

import "time"

// CPU is not known here.
func CPU() time.Duration { return 0 }

// PeakMemory is not known here.
func PeakMemory() int64 { return 0 }
