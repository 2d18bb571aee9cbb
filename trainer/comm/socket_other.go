//go:build !linux

package comm

import (
	"net"
	"time"
)

// limitUnacknowledged does nothing: the option exists on Linux only.
func limitUnacknowledged(net.Conn, time.Duration) {}
