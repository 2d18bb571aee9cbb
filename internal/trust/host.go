package trust

import (
	"net"
	"net/netip"
	"strings"
)

// Local reports whether a Host header, with or without a port, names this machine's
// loopback interface. An HTTP server on a loopback address that answers only such requests
// is safe from DNS rebinding: a web page in a browser on this machine can make its own host
// name resolve to 127.0.0.1, and the browser would then let the page read the answers.
// The Host of its requests is the page's host name.
func Local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	} else {
		host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	}
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
