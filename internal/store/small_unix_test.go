//go:build unix

package store_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"pretext/internal/store"
)

func TestSmallFilesAreRegularFilesWithinTheirLimit(t *testing.T) {
	t.Chdir(t.TempDir()) // the path of a socket is short
	kind := store.Small{Bytes: 100, Cost: 4}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile("full", bytes.Repeat([]byte("x"), 100), 0o666))
	must(os.WriteFile("over", bytes.Repeat([]byte("x"), 101), 0o666))
	must(os.WriteFile("sparse", nil, 0o666))
	must(os.Truncate("sparse", 1<<40))
	must(syscall.Mkfifo("fifo", 0o666))
	must(os.Mkdir("folder", 0o777))
	socket, err := net.Listen("unix", "socket")
	must(err)
	defer socket.Close()
	for link, to := range map[string]string{"good": "full", "pipe": "fifo", "zero": "/dev/zero", "none": "nothing"} {
		must(os.Symlink(to, link))
	}
	for path, want := range map[string]string{
		"full": "", "good": "", "over": "too large: it has 101 bytes, the most is 100", "sparse": "too large", "fifo": "a named pipe, not a regular file",
		"pipe": "a named pipe", "folder": "a folder, not a regular file", "socket": "a socket", "/dev/zero": "a device", "zero": "a device", "none": "no such file", "": "no such file",
	} {
		b, err := store.ReadSmall(t.Context(), path, kind)
		if want == "" && (err != nil || len(b) != 100) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %d bytes, %v, want %q", path, len(b), err, want)
		}
		f, err := store.OpenRegular(path)
		if err == nil {
			f.Close()
		}
		if regular := want == "" || strings.HasPrefix(want, "too large"); regular != (err == nil) {
			t.Errorf("%s: opened with %v", path, err)
		}
	}
}

func TestASmallFileIsChargedToTheMemoryLimit(t *testing.T) {
	path := t.TempDir() + "/file"
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o666); err != nil {
		t.Fatal(err)
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(64 << 20))
	if _, err := store.ReadSmall(t.Context(), path, store.Small{Bytes: 1 << 20, Cost: 64}); err != nil {
		t.Errorf("as large as the limit: %v", err)
	}
	var memory interface{ DoesNotFit() bool }
	if _, err := store.ReadSmall(t.Context(), path, store.Small{Bytes: 1 << 20, Cost: 65}); !errors.As(err, &memory) {
		t.Errorf("larger: got %v", err)
	}
}

// A file system that does not answer keeps nobody from stopping.
func TestASmallFileIsGivenUpWhenTheProgramStops(t *testing.T) {
	until := make(chan struct{})
	defer close(until)
	defer store.Intercept(func(store.Step, string) error { <-until; return nil })()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := store.ReadSmall(ctx, "file", store.Tokens); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
