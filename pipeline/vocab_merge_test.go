package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/tokenize/vocab"
)

// Merged in groups, the counts are those of one merge, and a corrupt file is named
// by its number among all.
func TestWordCountsAreMergedInGroups(t *testing.T) {
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var results []stage.Result
	for i := range 11 {
		lines := fmt.Sprintf("a\t%d\nw%02d\t1\nz\t2\n", i+1, i)
		if err := store.WriteFile(t.Context(), dir, fmt.Sprintf("counts-%05d.txt", i), []byte(lines)); err != nil {
			t.Fatal(err)
		}
		results = append(results, stage.Result{Task: i, SideCar: fmt.Sprintf("counts-%05d.json", i)})
	}
	var files openFiles
	merged := func(atOnce int) (words []vocab.WordCount, err error) {
		m := newCountsMerge(&stage.Env{Folder: countedFolder{dir, &files}}, results)
		m.atOnce, files.most = atOnce, 0
		for w, err := range m.words(t.Context()) {
			if err != nil {
				return words, err
			}
			words = append(words, w)
		}
		return words, nil
	}
	want, err := merged(11)
	if err != nil || len(want) != 13 || want[0].Count != 66 || files.most != 11 {
		t.Fatalf("at once: got %v, %v, %d files open", want, err, files.most)
	}
	for _, atOnce := range []int{1, 3, 10} {
		got, err := merged(atOnce)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("in groups of %d: %v, %s", atOnce, err, diff)
		}
		if files.most != atOnce || files.open != 0 {
			t.Errorf("in groups of %d: %d files open at once, %d left", atOnce, files.most, files.open)
		}
	}
	if err := store.WriteFile(t.Context(), dir, "counts-00007.txt", []byte(strings.Repeat("x\t1\n", 2))); err != nil {
		t.Fatal(err)
	}
	for _, atOnce := range []int{3, 11} {
		var corrupt *vocab.CorruptError
		if _, err := merged(atOnce); !errors.As(err, &corrupt) || corrupt.File != 7 || corrupt.Line != 2 {
			t.Errorf("in groups of %d: got %v, want line 2 of file 7", atOnce, err)
		}
	}
}

// A slowFolder takes 30 ms to open a file, as an object store does.
type slowFolder struct{ folder }

func (f slowFolder) Open(ctx context.Context, name string) (store.File, error) {
	time.Sleep(30 * time.Millisecond)
	return f.folder.Open(ctx, name)
}

func TestWordCountsAreOpenedTogether(t *testing.T) {
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const files = 2 * opensAtOnce
	var results []stage.Result
	for i := range files {
		if err := store.WriteFile(t.Context(), dir, fmt.Sprintf("counts-%05d.txt", i), []byte("a\t1\n")); err != nil {
			t.Fatal(err)
		}
		results = append(results, stage.Result{Task: i, SideCar: fmt.Sprintf("counts-%05d.json", i)})
	}
	synctest.Test(t, func(t *testing.T) { // time passes only while all goroutines sleep
		begin := time.Now()
		for w, err := range newCountsMerge(&stage.Env{Folder: slowFolder{dir}}, results).words(t.Context()) {
			if err != nil || w.Count != files {
				t.Errorf("%v, %v", w, err)
			}
		}
		if took := time.Since(begin); took > 2*30*time.Millisecond {
			t.Errorf("%d files were opened in %v", files, took)
		}
	})
}
