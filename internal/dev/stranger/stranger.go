// Package stranger runs a test's own program as another user and in another network
// namespace, for tests of what strangers can do. It needs root and Linux.
package stranger

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"

	"pretext/internal/dev/realdata"
)

// UID is the stranger's user: nobody.
const UID = 65534

// Program returns the path of a copy of this program, in a directory of its own, that
// every user may start. The test is skipped where there is no root.
func Program(t testing.TB) string {
	t.Helper()
	if os.Getuid() != 0 {
		realdata.Missing(t, "to act as another user needs root")
	}
	dir, err := os.MkdirTemp("", "pretext-stranger-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "stranger")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(path, "/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	return path
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// Args returns the command line that runs a program as the stranger, in a network
// namespace or, for "", in that of the test.
func Args(t testing.TB, space, program string) []string {
	t.Helper()
	id := strconv.Itoa(UID)
	args := []string{realdata.Tool(t, "setpriv"), "--reuid=" + id, "--regid=" + id, "--clear-groups", program}
	if space != "" {
		args = append([]string{realdata.Tool(t, "ip"), "netns", "exec", space}, args...)
	}
	return args
}

// spaces counts the namespaces of this process.
var spaces atomic.Int32

// Namespace makes a network namespace that is joined to this one as by a cable, and
// returns its name and the address of this one.
func Namespace(t testing.TB) (name, host string) {
	t.Helper()
	ip := realdata.Tool(t, "ip")
	n := spaces.Add(1)
	name, cable := fmt.Sprintf("pretext-stranger-%d-%d", os.Getpid(), n), fmt.Sprintf("pt%d.%d", os.Getpid(), n)
	if out, err := exec.Command(ip, "netns", "add", name).CombinedOutput(); err != nil {
		realdata.Missing(t, fmt.Sprintf("no network namespaces, which need root: %s", out))
	}
	t.Cleanup(func() { exec.Command(ip, "netns", "del", name).Run() })
	t.Cleanup(func() { exec.Command(ip, "link", "del", cable).Run() })
	// Tests of several packages run at once.
	host, theirs := fmt.Sprintf("10.%d.%d.1", 64+os.Getpid()%128, n), fmt.Sprintf("10.%d.%d.2/24", 64+os.Getpid()%128, n)
	for _, args := range [][]string{
		{"link", "add", cable, "type", "veth", "peer", "name", "cable", "netns", name},
		{"addr", "add", host + "/24", "dev", cable}, {"link", "set", cable, "up"},
		{"-n", name, "addr", "add", theirs, "dev", "cable"}, {"-n", name, "link", "set", "cable", "up"}, {"-n", name, "link", "set", "lo", "up"},
	} {
		if out, err := exec.Command(ip, args...).CombinedOutput(); err != nil {
			t.Fatalf("ip %q: %v: %s", args, err, out)
		}
	}
	return name, host
}
