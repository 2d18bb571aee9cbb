package sharding

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"pretext/counts"
	"pretext/internal/store"
	"pretext/records/pretrain"
)

// smallParts makes manifests of more than three files be written in parts of two.
func smallParts(t *testing.T) {
	oldWhole, oldPart := maxWholeManifest, maxPartFiles
	maxWholeManifest, maxPartFiles = 3, 2
	t.Cleanup(func() { maxWholeManifest, maxPartFiles = oldWhole, oldPart })
}

func partedFolder(t *testing.T, files int) (store.Folder, *Manifest) {
	t.Helper()
	dir, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	recipe := Recipe{FormatVersion: FormatVersion, Stage: "lengths", Options: []byte(`{"a":"<&>"}`), Inputs: []Input{}}
	m := &Manifest{Recipe: recipe, Fingerprint: recipe.Fingerprint(), Counts: Counts{counts.KeyOf("n"): 1}, Files: []FileEntry{}, Warnings: []Warning{{Code: warnRejects, Count: 1, Of: 2}}}
	for i := range files {
		m.Files = append(m.Files, FileEntry{Name: fmt.Sprintf("a<%05d", i), Task: i, Bytes: int64(i), SHA256: Hash(nil), Counts: Counts{counts.KeyOf("documents"): int64(i)}})
	}
	if err := m.Write(func(name string, data []byte) error { return store.WriteFile(t.Context(), dir, name, data) }); err != nil {
		t.Fatal(err)
	}
	return dir, m
}

func TestAManifestInPartsIsReadAsOneFile(t *testing.T) {
	smallParts(t)
	for files, parts := range map[int]int{0: 0, 3: 0, 4: 2, 7: 4} {
		dir, want := partedFolder(t, files)
		got, err := ReadManifest(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(Marshal(want)), string(Marshal(got))); diff != "" {
			t.Errorf("%d files: %s", files, diff)
		}
		head, err := ReadManifestHead(t.Context(), dir)
		if err != nil || len(head.Parts()) != parts || parts > 0 && len(head.Files) > 0 {
			t.Errorf("%d files: %d parts, %d files in the head, %v", files, len(head.Parts()), len(head.Files), err)
		}
		var each []FileEntry
		for f, err := range head.EachFile(t.Context(), dir) {
			if err != nil {
				t.Fatal(err)
			}
			each = append(each, f)
		}
		if !cmp.Equal(want.Files, each, cmpopts.EquateEmpty()) {
			t.Errorf("%d files: each file is %v", files, each)
		}
		raw, err := store.ReadFile(t.Context(), dir, ManifestName)
		if whole := string(Marshal(want)); err != nil || (string(raw) == whole) != (parts == 0) {
			t.Errorf("%d files: %s, %v", files, raw, err)
		}
		if parts > 0 && !strings.HasPrefix(string(raw), "{\n \"format_version\": 2,") {
			t.Errorf("%d files: an earlier reader takes this for a manifest without files: %s", files, raw)
		}
	}
}

func TestADamagedPartOfAManifestIsNamed(t *testing.T) {
	smallParts(t)
	dir, m := partedFolder(t, 5)
	part := filepath.Join(dir.String(), "manifest-00001.jsonl")
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		raw  []byte
		want string
	}{
		{nil, "missing"},
		{whole[1:], "its size or SHA-256"},
		{slices.Concat(whole[:9], []byte("x"), whole[10:]), "its size or SHA-256"},
	} {
		os.Remove(part)
		if c.raw != nil {
			if err := os.WriteFile(part, c.raw, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadManifest(t.Context(), dir); !errors.Is(err, ErrFormat) || errors.Is(err, ErrUnfinished) || !strings.Contains(err.Error(), "manifest-00001.jsonl in ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	// With the right hashes, but names that are not sorted across parts.
	m.Files[2], m.Files[4] = m.Files[4], m.Files[2]
	if err := m.Write(func(name string, data []byte) error { return store.WriteFile(t.Context(), dir, name, data) }); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(t.Context(), dir); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "is not a plain name after") {
		t.Errorf("unsorted: got %v", err)
	}
}

// load_dataset is told of the documents where a folder has them, and of no records.
func TestTheReaderFileNamesWhatCanBeRead(t *testing.T) {
	records, imported := string(RecordsReader([]string{Train, Eval}, false)), string(RecordsReader([]string{Train}, true))
	if !strings.Contains(records, "split: train") || !strings.Contains(records, "split: eval") || !strings.Contains(records, RecordSuffix) || strings.Contains(records, ImportedFolder+"/") {
		t.Errorf("records: %s", records)
	}
	if !strings.Contains(imported, ImportedFolder+"/*"+DocumentsSuffix) || strings.Contains(imported, RecordSuffix) {
		t.Errorf("imported documents: %s", imported)
	}
	some := string(ReaderFile([]string{Train, Eval}, ".hdf5", "x", map[string][]string{Eval: {"eval-00001-of-00002.test.hdf5"}}))
	if want := "  - split: train\n    path: \"train-*.hdf5\"\n  - split: eval\n    path:\n    - \"eval-00001-of-00002.test.hdf5\"\n"; !strings.HasSuffix(some, want) {
		t.Errorf("listed files: %s", some)
	}
}

// A shard counts what its form of records has.
func TestCountsOfAShardAreThoseOfItsForm(t *testing.T) {
	for recipe, want := range map[string][]counts.Count{
		"google": {Masked, WithoutPredictions, RandomNext},
		"mlm":    {Masked, WithoutPredictions},
		"tokens": {CutDocuments},
		"packed": {CutDocuments, Pieces},
		"pieces": {CutDocuments},
	} {
		o := DefaultExamplesOptions()
		o.Recipe = recipe
		s := NewShardWriter(o)
		s.made = pretrain.Counts{Examples: 1, Tokens: 1, Predictions: 1, NoPredictions: 1, CutDocuments: 1, RandomNext: 1, Pieces: 1}
		got := s.counts()
		for _, c := range []counts.Count{Masked, WithoutPredictions, RandomNext, CutDocuments, Pieces} {
			if has := c.Of(got) == 1; has != slices.ContainsFunc(want, func(w counts.Count) bool { return w.Key == c.Key }) {
				t.Errorf("%s: counts %v: %t, want %t", recipe, c.Key, has, !has)
			}
		}
	}
}
