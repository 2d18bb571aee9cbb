package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestReservedSpaceIsGivenBack writes files of several MiB and compares the disk space
// that they take with their size: with reservations, and with one that fails halfway.
func TestReservedSpaceIsGivenBack(t *testing.T) {
	system := allocate
	defer func() { allocate = system }()
	reserved := 0
	for _, fails := range []bool{false, true} {
		allocate = func(fd int, mode uint32, off, n int64) error {
			reserved++
			if fails {
				return errors.Join(system(fd, mode, off, n/2), syscall.ENOSPC)
			}
			return system(fd, mode, off, n)
		}
		folder, piece := dir(t.TempDir()), bytes.Repeat([]byte("0123456789"), 30_000)
		w, err := folder.Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(string(folder), "x")
		got, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(got, bytes.Repeat(piece, 60)) {
			t.Fatalf("%d bytes read, %v", len(got), err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > info.Size()+leastReserved/2 {
			t.Errorf("fails %t: a file of %d bytes takes %d", fails, info.Size(), used)
		}
	}
	t.Logf("%d reservations", reserved)
}
