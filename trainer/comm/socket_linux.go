package comm

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged breaks a connection if the other side does not acknowledge
// what was sent for so long. It is for connections whose other side always reads.
// An error is ignored: heartbeats find most failures without it, but not a network
// that loses packets in one direction only.
func limitUnacknowledged(conn net.Conn, limit time.Duration) {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) {
		unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(limit.Milliseconds()))
	})
}
