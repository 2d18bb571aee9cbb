package comm

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limitUnacknowledged makes a connection fail if the other side does not acknowledge
// sent data within limit. Use it only if the other side always reads. Unlike heartbeats,
// it detects a network that loses packets in one direction only. Errors are ignored,
// because heartbeats detect most failures.
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
