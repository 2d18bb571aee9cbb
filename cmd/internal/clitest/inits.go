package clitest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// CheckInits fails the test if the packages of this module allocate more than most bytes
// before main begins, which slows every command. The fix is to create large values on
// first use, with sync.OnceValue. The check measures bytes, not time, because bytes are
// the same in every run.
func CheckInits(t *testing.T, program string, most int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "version")
	cmd.Args[0] = program
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	total, packages, largest := 0, 0, ""
	for line := range strings.Lines(trace.String()) {
		var name string
		var at, clock float64
		var bytes int
		if n, _ := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &clock, &bytes); n < 4 || !strings.HasPrefix(name, "pretext/") {
			continue
		}
		packages++
		if total += bytes; bytes > most/10 {
			largest += fmt.Sprintf("\n%s: %d", name, bytes)
		}
	}
	if packages < 10 {
		t.Fatalf("%d packages are initialized: %s", packages, &trace)
	}
	if total > most {
		t.Errorf("packages of this module allocate %d bytes before main, want at most %d; the largest:%s", total, most, largest)
	}
}
