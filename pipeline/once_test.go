package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/store"
	"pretext/sharding"
)

// What was made for a file is used again only for the same content and options.
func TestATokenizerIsMadeOnceForAFileAndItsCopies(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "vocab.txt", []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\n"))
	copied := writeFile(t, filepath.Join(dir, "vocab"), "vocab.txt", []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##a\n"))
	f := TokenFile{Vocab: path}
	o := sharding.DefaultExamplesOptions()
	first, err := f.read(&o)
	if err != nil {
		t.Fatal(err)
	}
	f.last = first
	again := f.in(filepath.Dir(copied))
	o.Shards = 7
	second, err := again.read(&o)
	if err != nil || second.tokenizer.WordPiece != first.tokenizer.WordPiece || second.tokenizer.Options.Shards != 7 {
		t.Errorf("the same file and options: another tokenizer, or options %+v, %v", second.tokenizer.Options, err)
	}
	o.DoLowerCase = !o.DoLowerCase
	if other, err := again.read(&o); err != nil || other.tokenizer.WordPiece == first.tokenizer.WordPiece {
		t.Errorf("other options: the same tokenizer, %v", err)
	}
	o.DoLowerCase = !o.DoLowerCase
	writeFile(t, filepath.Dir(copied), "vocab.txt", []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nb\n##b\n"))
	if other, err := again.read(&o); err != nil || other.tokenizer.WordPiece == first.tokenizer.WordPiece {
		t.Errorf("another content: the same tokenizer, %v", err)
	}
}

// The manifest step reads no side-car: results have what it needs, also those that
// an earlier run left. With few predictions allowed it needs the records' lengths.
func TestTheManifestOfShardsReadsNoSideCar(t *testing.T) {
	c := config(t, t.TempDir())
	c.Examples.MaxPredictionsPerSeq = 2
	var mu sync.Mutex
	reads := map[string]int{} // opened side-cars of shards; workers of the verifier open them side by side
	restore := store.Intercept(func(step store.Step, path string) error {
		if _, ok := sharding.ParseShardName(filepath.Base(path)); ok && step == store.StepOpen && filepath.Ext(path) == sharding.SideCarSuffix {
			mu.Lock()
			defer mu.Unlock()
			reads[path]++
		}
		return nil
	})
	defer restore()
	var warnings []sharding.DescribedWarning
	for again := range 3 { // each task looks whether it is proved, nobody else
		clear(reads)
		stages := run(t, oneWorker, c)
		last := stages[len(stages)-1]
		for path, n := range reads {
			if n > 1 {
				t.Errorf("run %d: %s is opened %d times, want 1", again, path, n)
			}
		}
		if again == 0 {
			warnings = last.Warnings
		}
		if len(last.Warnings) == 0 || !cmp.Equal(last.Warnings, warnings) {
			t.Errorf("run %d: warnings %v, first %v", again, last.Warnings, warnings)
		}
		shards := filepath.Join(c.Out, sharding.ShardsFolder)
		if v := verify(t, shards); !v.OK() {
			t.Errorf("run %d: %v", again, v.Problems)
		}
		os.Remove(filepath.Join(shards, []string{sharding.ManifestName, "train-00000-of-00003.json", ""}[again]))
	}
}

// Somebody may remove a finished file while the last tasks run.
func TestAFileRemovedDuringTheRunIsMissedByTheManifest(t *testing.T) {
	c := config(t, t.TempDir())
	removed := ""
	restore := store.Intercept(func(step store.Step, path string) error {
		if base := filepath.Base(path); step == store.StepRename && base == "train-00002-of-00003.json" {
			removed = filepath.Join(filepath.Dir(path), "train-00000-of-00003.idx")
			return os.Remove(removed)
		}
		return nil
	})
	defer restore()
	_, err := Run(t.Context(), oneWorker, c)
	if removed == "" || err == nil || !strings.Contains(err.Error(), "train-00000-of-00003.idx in "+filepath.Dir(removed)+" changed while the stage ran") {
		t.Errorf("%q was removed: got %v", removed, err)
	}
}
