package store

import (
	"bytes"
	"syscall"
	"testing"
)

// TestDiscardFreesSpace fills a scratch file and discards half of it.
func TestDiscardFreesSpace(t *testing.T) {
	s, err := NewScratch(dir(t.TempDir()), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const half = 1 << 20
	data := bytes.Repeat([]byte("x"), 2*half)
	if _, err := s.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	s.Discard(0, half)
	info, err := s.(*dirScratch).Stat()
	if err != nil {
		t.Fatal(err)
	}
	if used := info.Sys().(*syscall.Stat_t).Blocks * 512; used > half+half/2 {
		t.Errorf("%d bytes used", used)
	}
	got := make([]byte, 2*half)
	if _, err := s.ReadAt(got, 0); err != nil || !bytes.Equal(got[half:], data[half:]) {
		t.Errorf("what was not discarded: %v", err)
	}
}
