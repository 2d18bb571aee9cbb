package stage_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pretext/internal/store"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

// socketsVariable is the folder in which a process of this test binary runs all
// stages and counts sockets; listenVariable has it open one itself.
const socketsVariable, listenVariable = "PRETEXT_TEST_SOCKETS", "PRETEXT_TEST_LISTEN"

func TestMain(m *testing.M) {
	stage.Init(os.Args[1:])
	if out := os.Getenv(socketsVariable); out != "" {
		if err := countSockets(out); err != nil {
			fmt.Println(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// countSockets runs all stages and prints how many steps of them found a socket
// open in this process.
func countSockets(out string) error {
	if os.Getenv(listenVariable) != "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
	}
	var steps, seen atomic.Int64
	defer store.Intercept(func(store.Step, string) error {
		steps.Add(1)
		if slices.Contains(filesOpen(), "socket") {
			seen.Add(1)
		}
		return nil
	})()
	if _, err := pipeline.Demo(context.Background(), stage.Runner{Workers: 2}, pipeline.DemoConfig(out)); err != nil {
		return err
	}
	fmt.Printf("%d steps, %d with sockets\n", steps.Load(), seen.Load())
	return nil
}

// filesOpen returns what the descriptors of this process are open on.
func filesOpen() (targets []string) {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if target, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil {
			kind, _, _ := strings.Cut(target, ":")
			targets = append(targets, kind)
		}
	}
	return targets
}

// The default runner has no socket open at any step of any stage. The second run
// shows that one would be seen.
func TestADirectRunOpensNoSocket(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("needs /proc/self/fd of Linux")
	}
	for _, listen := range []string{"", "yes"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), socketsVariable+"="+t.TempDir(), listenVariable+"="+listen)
		got, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var steps, seen int
		if n, err := fmt.Sscanf(string(got), "%d steps, %d with sockets", &steps, &seen); n != 2 {
			t.Fatalf("the run says %q: %v", got, err)
		}
		if steps < 100 || (seen > 0) != (listen != "") {
			t.Errorf("%d of %d steps with sockets, of a process that listens: %t", seen, steps, listen != "")
		}
	}
}
