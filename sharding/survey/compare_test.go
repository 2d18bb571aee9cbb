package survey_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/extract"
	"pretext/records"
	"pretext/records/tfrecord"
	"pretext/sharding"
	"pretext/sharding/survey"
)

func compare(t testing.TB, a, b string, o survey.CompareOptions) *survey.Difference {
	t.Helper()
	d, err := survey.Compare(context.Background(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestARunIsTheSameAsItself(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(demo(t))); err != nil {
		t.Fatal(err)
	}
	if d := compare(t, demo(t), copied, survey.CompareOptions{}); !d.Equal || len(d.Folders) > 0 {
		t.Errorf("got %+v", d)
	}
}

// Two manifests can agree while a file is missing, cut off or changed.
func TestFilesThatAreNotWhatManifestsSayAreDamage(t *testing.T) {
	for _, c := range []struct {
		what  string
		sized bool // its size shows it
		hurt  func(path string) error
	}{
		{"missing", true, os.Remove},
		{"cut off", true, func(path string) error { return os.Truncate(path, 100) }},
		{"changed", false, func(path string) error {
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte("x"), 50)
			return err
		}},
	} {
		for _, name := range []string{"shards/train-00001-of-00004.tfrecord", "documents/documents-books-00000.jsonl.zst"} {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(demo(t))); err != nil {
				t.Fatal(err)
			}
			if err := c.hurt(filepath.Join(copied, name)); err != nil {
				t.Fatal(err)
			}
			for _, only := range []bool{false, true} {
				for _, pair := range [][2]string{{demo(t), copied}, {copied, demo(t)}} {
					_, err := survey.Compare(t.Context(), pair[0], pair[1], survey.CompareOptions{ManifestsOnly: only})
					if want := c.sized || !only; errors.Is(err, sharding.ErrDamaged) != want || err != nil && !strings.Contains(err.Error(), name) {
						t.Errorf("%s %s, manifests only %v: got %v", name, c.what, only, err)
					}
				}
			}
		}
	}
}

func TestRecordsAreComparedOneByOneAndAsSets(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.tfrecord"), filepath.Join(t.TempDir(), "b.tfrecord")
	writeRecords(t, a, 1, 2, 3, 4)
	writeRecords(t, b, 1, 5, 4, 3, 6)
	for _, memory := range []int64{0, 1} {
		d := compare(t, a, b, survey.CompareOptions{Memory: memory})
		want := &survey.RecordDifference{Differ: 4, A: 4, B: 5, OnlyA: 1, OnlyB: 2, First: []survey.RecordFault{{File: "a.tfrecord", Record: 1,
			OffsetA: d.Folders[0].Records.First[0].OffsetA, OffsetB: d.Folders[0].Records.First[0].OffsetA,
			Fields: []survey.FieldFault{{Feature: "input_ids", Differ: 1, At: 1, A: "12", B: "15"}}}}}
		if diff := cmp.Diff(want, d.Folders[0].Records); diff != "" || d.Equal {
			t.Error(diff)
		}
		if d.Folders[0].Records.First[0].OffsetA == 0 {
			t.Error("got no offset")
		}
	}
}

// A field that readers of records use is compared whatever its type.
func TestEveryFieldOfRecordsIsCompared(t *testing.T) {
	for feature, change := range map[string]func(*records.Example){
		records.InputIDs:           func(e *records.Example) { e.InputIDs[1]++ },
		records.InputMask:          func(e *records.Example) { e.InputMask[7] = 1 },
		records.SegmentIDs:         func(e *records.Example) { e.SegmentIDs[3] = 1 },
		records.MaskedLMPositions:  func(e *records.Example) { e.MaskedLMPositions[0]++ },
		records.MaskedLMIDs:        func(e *records.Example) { e.MaskedLMIDs[0]++ },
		records.MaskedLMWeights:    func(e *records.Example) { e.MaskedLMWeights[1] = 1 },
		records.NextSentenceLabels: func(e *records.Example) { e.NextSentenceLabel = 1 },
	} {
		a, b := filepath.Join(t.TempDir(), "a.tfrecord"), filepath.Join(t.TempDir(), "b.tfrecord")
		writeRecords(t, a, 1)
		other := example(1)
		change(other)
		if err := os.WriteFile(b, tfrecord.AppendFrame(nil, other.Append(nil)), 0o666); err != nil {
			t.Fatal(err)
		}
		first := compare(t, a, b, survey.CompareOptions{}).Folders[0].Records.First
		if len(first) != 1 || len(first[0].Fields) != 1 || first[0].Fields[0].Feature != feature {
			t.Errorf("%s: got %+v", feature, first)
		}
	}
}

func TestAFileThatEndsEarlierIsTold(t *testing.T) {
	a, b := filepath.Join(t.TempDir(), "a.tfrecord"), filepath.Join(t.TempDir(), "a.tfrecord")
	writeRecords(t, a, 1, 2)
	writeRecords(t, b, 1)
	r := compare(t, a, b, survey.CompareOptions{}).Folders[0].Records
	if r.Differ != 1 || r.OnlyA != 1 || r.First[0].Only != "a" || r.First[0].Record != 1 {
		t.Errorf("got %+v", r)
	}
}

// documentsFolder writes a folder of documents, two a file, by ID and text.
func documentsFolder(t *testing.T, options string, documents ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	m := sharding.Manifest{Recipe: sharding.Recipe{FormatVersion: 1, Stage: "mine", Options: json.RawMessage(options)}, Counts: sharding.Counts{counts.KeyOf("documents"): int64(len(documents))}}
	for i := 0; i < len(documents); i += 2 {
		var file bytes.Buffer
		w, err := extract.NewWriter(&file, 100, extract.DefaultLevel)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range documents[i:min(i+2, len(documents))] {
			if err := w.Write(&extract.Document{ID: d[0], Text: d[1]}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("documents-x-%05d.jsonl.zst", i/2)
		m.Files = append(m.Files, sharding.FileEntry{Name: name, Task: i / 2, Bytes: int64(file.Len()), SHA256: sharding.Hash(file.Bytes())})
		if err := os.WriteFile(filepath.Join(dir, name), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m.Fingerprint = m.Recipe.Fingerprint()
	if err := os.WriteFile(filepath.Join(dir, sharding.ManifestName), sharding.Marshal(m), 0o666); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDocumentsAreComparedByID(t *testing.T) {
	a := documentsFolder(t, `{"n":1}`, [2]string{"x:1", "one"}, [2]string{"x:2", "two"}, [2]string{"x:3", "three"}, [2]string{"x:4", "four"}, [2]string{"x:4", "four again"})
	b := documentsFolder(t, `{"n":2}`, [2]string{"x:3", "three"}, [2]string{"x:2", "zwei"}, [2]string{"x:5", "five"}, [2]string{"x:4", "four"})
	d := compare(t, a, b, survey.CompareOptions{})
	want := &survey.DocumentDifference{A: 5, B: 4, Removed: 2, Added: 1, Changed: 1, First: []survey.IDList{
		{What: "removed", IDs: []string{"x:1", "x:4"}}, {What: "added", IDs: []string{"x:5"}}, {What: "changed", IDs: []string{"x:2"}}}}
	if diff := cmp.Diff(want, d.Folders[0].Documents); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]survey.Change{{Name: "n", A: "1", B: "2"}}, d.Folders[0].Options); diff != "" {
		t.Error(diff)
	}
	if got := d.Folders[0].Counts; len(got) != 1 || got[0] != (survey.Change{Name: "documents", A: "5", B: "4"}) {
		t.Errorf("got counts %v", got)
	}
}

func TestDocumentsInAnotherOrderAreNoDifferenceOfDocuments(t *testing.T) {
	a := documentsFolder(t, `{}`, [2]string{"x:1", "one"}, [2]string{"x:2", "two"}, [2]string{"x:3", "three"})
	b := documentsFolder(t, `{}`, [2]string{"x:3", "three"}, [2]string{"x:1", "one"}, [2]string{"x:2", "two"})
	d := compare(t, a, b, survey.CompareOptions{})
	if diff := cmp.Diff(&survey.DocumentDifference{A: 3, B: 3}, d.Folders[0].Documents); diff != "" || d.Equal {
		t.Errorf("%v %s", d.Equal, diff)
	}
}

func TestAFolderThatOneRunLacksIsTold(t *testing.T) {
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(demo(t))); err != nil {
		t.Fatal(err)
	}
	os.RemoveAll(filepath.Join(copied, "vocab"))
	d := compare(t, demo(t), copied, survey.CompareOptions{})
	if diff := cmp.Diff([]survey.FolderDifference{{Folder: "vocab", Only: "a"}}, d.Folders); diff != "" {
		t.Error(diff)
	}
	d = compare(t, copied, demo(t), survey.CompareOptions{})
	if diff := cmp.Diff([]survey.FolderDifference{{Folder: "vocab", Only: "b"}}, d.Folders); diff != "" {
		t.Error(diff)
	}
}
