package store

import (
	"bytes"
	"slices"
	"syscall"
	"testing"
)

// TestFilesAreWrittenBackWhileTheyAreMade records which parts of a file the kernel is
// asked to write before the commit: all but less than a piece, each once, in order;
// and nothing more after an error.
func TestFilesAreWrittenBackWhileTheyAreMade(t *testing.T) {
	system := syncFileRange
	defer func() { syncFileRange = system }()
	piece := bytes.Repeat([]byte("0123456789"), 30_000)
	for _, fails := range []bool{false, true} {
		var parts [][2]int64 // beginning and end
		syncFileRange = func(fd int, off, n int64, flags int) error {
			parts = append(parts, [2]int64{off, off + n})
			if fails {
				return syscall.ENOSYS
			}
			return system(fd, off, n, flags)
		}
		w, err := dir(t.TempDir()).Create(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		for range 60 {
			if _, err := w.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		var want [][2]int64
		for end := int64(4 * len(piece)); end <= int64(60*len(piece)); end += int64(4 * len(piece)) {
			want = append(want, [2]int64{end - int64(4*len(piece)), end})
		}
		if fails {
			want = want[:1]
		}
		if !slices.Equal(parts, want) {
			t.Errorf("fails %t: parts %v, want %v", fails, parts, want)
		}
		if err := w.Commit(); err != nil {
			t.Error(err)
		}
	}
}
