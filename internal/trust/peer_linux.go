package trust

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Constants of linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h that are missing
// in package unix.
const (
	diagByFamily   = 20 // SOCK_DIAG_BY_FAMILY
	established    = 1  // TCP_ESTABLISHED
	requestLength  = 16 + 56
	answerLength   = 16 + 72
	offsetUID      = 16 + 64 // of idiag_uid in an answer
	offsetINode    = 16 + 68 // of idiag_inode
	offsetState    = 16 + 1  // of idiag_state
	noCookie       = ^uint32(0)
	diagPatienceMS = 1000
)

// peerUID returns the user ID of the process at the other end of a connection within this
// network namespace. It uses the kernel's socket monitoring (sock_diag(7)): one request for
// one socket, so its cost does not grow with the number of connections.
func peerUID(conn net.Conn) (int, error) {
	theirs, ok := addressOf(conn.RemoteAddr())
	ours, ok2 := addressOf(conn.LocalAddr())
	if !ok || !ok2 {
		return 0, errUnknown
	}
	// A listener for both IPv6 and IPv4 has sockets of family IPv6 also for connections over
	// IPv4. The kernel finds such a socket by either family. The other end's socket may
	// have either family.
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnknown, err)
	}
	defer unix.Close(fd)
	limit := unix.NsecToTimeval(diagPatienceMS * 1e6)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return 0, err
	}
	if err := unix.Sendto(fd, question(theirs, ours), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("%w: %w", errUnknown, err)
	}
	b := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnknown, err)
	}
	return answer(b[:n])
}

// addressOf returns the address of a TCP socket. An IPv4 address in IPv6 form becomes IPv4.
func addressOf(a net.Addr) (netip.AddrPort, bool) {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	p := tcp.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port()), p.IsValid()
}

// question returns the netlink request for the socket bound to src and connected to dst.
func question(src, dst netip.AddrPort) []byte {
	native, network := binary.NativeEndian, binary.BigEndian
	b := make([]byte, 0, requestLength)
	b = native.AppendUint32(b, requestLength)
	b = native.AppendUint16(b, diagByFamily)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // sequence number, port
	family := byte(unix.AF_INET6)
	if src.Addr().Is4() {
		family = unix.AF_INET
	}
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, 1<<established)
	b = network.AppendUint16(b, src.Port())
	b = network.AppendUint16(b, dst.Port())
	for _, a := range []netip.Addr{src.Addr(), dst.Addr()} {
		b = append(append(b, a.AsSlice()...), make([]byte, 16-len(a.AsSlice()))...)
	}
	b = native.AppendUint32(b, 0) // any interface
	return native.AppendUint32(native.AppendUint32(b, noCookie), noCookie)
}

// answer returns the user ID in the kernel's answer.
func answer(b []byte) (int, error) {
	native := binary.NativeEndian
	if len(b) < 16 {
		return 0, errUnknown
	}
	if kind := native.Uint16(b[4:]); kind == unix.NLMSG_ERROR && len(b) >= 20 {
		errno := unix.Errno(-int32(native.Uint32(b[16:])))
		return 0, fmt.Errorf("%w: %w", errUnknown, errno)
	} else if kind != diagByFamily || len(b) < answerLength {
		return 0, errUnknown
	}
	if b[offsetState] != established || native.Uint32(b[offsetINode:]) == 0 {
		return 0, fmt.Errorf("%w: that process has closed the connection", errUnknown)
	}
	return int(native.Uint32(b[offsetUID:])), nil
}
