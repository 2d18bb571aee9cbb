package extract

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/parallel"
)

// teamOf returns a team of a process that may run so many tasks at once.
func teamOf(workers int) *parallel.Team {
	slots := make(chan struct{}, workers)
	slots <- struct{}{}
	return parallel.NewTeam(slots)
}

func TestATeamWritesTheSameFile(t *testing.T) {
	docs := documents(600)
	for i := range docs {
		if i%100 == 7 {
			docs[i].Text = strings.Repeat("A long document has a block of its own. ", 150_000) // larger than a buffer that is kept
		}
	}
	for level := Stored; level <= 2; level++ {
		w, err := NewWriter(nil, 0, level)
		if err != nil {
			t.Fatal(err)
		}
		var want []byte
		var wantBlocks []Block
		for _, workers := range []int{0, 1, 2, 4, 0} {
			var file bytes.Buffer
			w.Reset(&file, 10_000)
			var team *parallel.Team
			if workers > 0 {
				team = teamOf(workers)
				w.Share(team)
			}
			for _, d := range docs {
				if err := w.Write(d); err != nil {
					t.Fatal(err)
				}
			}
			blocks, err := w.Close()
			if err != nil {
				t.Fatal(err)
			}
			if team != nil {
				team.End()
			}
			if want == nil {
				want, wantBlocks = file.Bytes(), blocks
			}
			if !bytes.Equal(want, file.Bytes()) || cmp.Diff(wantBlocks, blocks) != "" {
				t.Errorf("level %d, %d workers: another file", level, workers)
			}
		}
	}
}

// fullAfter fails once it has taken n bytes.
type fullAfter int

var errFull = errors.New("full")

func (f *fullAfter) Write(p []byte) (int, error) {
	if *f -= fullAfter(len(p)); *f < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestAnErrorOfWritingWithATeamIsReturned(t *testing.T) {
	docs := documents(300)
	for _, workers := range []int{1, 3} {
		for _, room := range []fullAfter{0, 500, 5_000} {
			team := teamOf(workers)
			w, err := NewWriter(&room, 20_000, DefaultLevel)
			if err != nil {
				t.Fatal(err)
			}
			w.Share(team)
			for _, d := range docs {
				if err = w.Write(d); err != nil {
					break
				}
			}
			if err == nil {
				_, err = w.Close()
			}
			if err != errFull {
				t.Errorf("%d workers: got %v", workers, err)
			}
			team.End()
			var file bytes.Buffer // the writer can be used again
			w.Reset(&file, 20_000)
			for _, d := range docs {
				if err := w.Write(d); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if again, _ := write(t, docs, 20_000); !bytes.Equal(again, file.Bytes()) {
				t.Errorf("%d workers: another file after an error", workers)
			}
		}
	}
}
