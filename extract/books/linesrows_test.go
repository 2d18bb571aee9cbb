package books

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/parquet"
)

// readAll plans and reads sources; documents are "id|text".
func readAll(t *testing.T, opts Options, paths ...string) (docs []string, stats []Stats, err error) {
	t.Helper()
	tasks, err := Plan(Local{}, paths, opts)
	if err != nil {
		return nil, nil, err
	}
	for _, task := range tasks {
		r := NewReader(Local{}, task, opts)
		for d, err := range r.Documents() {
			if err != nil {
				return docs, stats, err
			}
			docs = append(docs, d.ID+"|"+d.Text)
		}
		stats = append(stats, r.Stats())
	}
	return docs, stats, nil
}

func TestLinesMakeDocumentsOfSoMany(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/a.txt", "\xEF\xBB\xBFOne.\r\n\n  Two. \nThree\x00.\xFF\n \t\nFour.\nFive.")
	writeFile(t, dir+"/b.txt", "\xFF\xFEx\x00\n\x00y\x00")
	docs, stats, err := readAll(t, Options{LinesPerDocument: 2}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"books:b.txt#1|x\ny"}
	if diff := cmp.Diff(want, docs); diff != "" {
		t.Error(diff) // a NUL near the beginning: not text
	}
	if stats[0].Rejects[extract.RejectBinary] != 1 {
		t.Errorf("stats: %+v", stats)
	}
	writeFile(t, dir+"/a.txt", "\xEF\xBB\xBFOne.\r\n\n  Two. \nThree.\xFF\n \t\nFour.\nFive.")
	docs, stats, err = readAll(t, Options{LinesPerDocument: 2}, dir)
	if err != nil {
		t.Fatal(err)
	}
	want = []string{"books:a.txt#1|One.\nTwo.", "books:a.txt#4|Three.\nFour.", "books:a.txt#7|Five.", "books:b.txt#1|x\ny"}
	if diff := cmp.Diff(want, docs); diff != "" {
		t.Error(diff)
	}
	if s := stats[0]; s.Books != 4 || s.Kept != 4 || s.Lines != 9 || s.InvalidBytes != 1 || s.Recoded != 1 {
		t.Errorf("stats: %+v", s)
	}
}

func TestALineBeyondTheLimitIsAReject(t *testing.T) {
	for _, size := range []int{99, 101, 150, 70_000, 300_000} {
		store := memory{"in/a.txt": "short\n" + strings.Repeat("x", size) + "\nlast\n" + strings.Repeat("y ", 40) + "\n" + strings.Repeat("z ", 40)}
		r := NewReader(store, Task{Path: "in", Kind: kindFolder, Files: []Name{"a.txt"}}, Options{LinesPerDocument: 3})
		r.limit = 100
		var lines []string
		for d, err := range r.Documents() {
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Text) > 100 {
				t.Errorf("%d: a document of %d bytes", size, len(d.Text))
			}
			lines = append(lines, strings.Split(d.Text, "\n")...)
		}
		wantLines, wantRejects := 5, int64(0)
		if size > 100 {
			wantLines, wantRejects = 4, 1
		}
		if len(lines) != wantLines || r.Stats().Rejects[extract.RejectTooLarge] != wantRejects {
			t.Errorf("%d: lines %.40q, %+v", size, lines, r.Stats())
		}
	}
}

const fixture = "../parquet/testdata/"

func TestRowsAreDocuments(t *testing.T) {
	docs, stats, err := readAll(t, Options{}, fixture+"plain-zstd.parquet")
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 60 || docs[0] != "books:plain-zstd.parquet#1|The river runs to the sea." || !strings.HasPrefix(docs[1], "books:plain-zstd.parquet#3|Ein Boot") {
		t.Errorf("%d documents: %q", len(docs), docs[:2])
	}
	if s := stats[0]; s.Lines != 61 || s.Kept != 60 {
		t.Errorf("stats: %+v", s)
	}
	docs, _, err = readAll(t, Options{LinesPerDocument: 7}, fixture+"nulls.parquet")
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range docs {
		if _, text, _ := strings.Cut(d, "|"); strings.Count(text, "\n") != 6 && i != len(docs)-1 {
			t.Errorf("not seven lines: %q", d)
		}
	}
}

func TestParquetFilesOfAFolderAreReadInItsOrder(t *testing.T) {
	dir := t.TempDir()
	sound, err := os.ReadFile(fixture + "dictionary.parquet")
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, dir+"/a.txt", "A book.")
	writeFile(t, dir+"/b/c.parquet", string(sound))
	writeFile(t, dir+"/d.parquet", string(sound[:len(sound)-9])+"PAR1")
	writeFile(t, dir+"/e.txt", "Another book.")
	writeFile(t, dir+"/other.parquet", string(bytes.ReplaceAll(sound, []byte("text"), []byte("tixt"))))
	docs, stats, err := readAll(t, Options{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 62 || docs[0] != "books:a.txt|A book." || docs[1] != "books:b/c.parquet#1|The river runs to the sea." || docs[61] != "books:e.txt|Another book." {
		t.Errorf("%d documents: %q … %q", len(docs), docs[:2], docs[len(docs)-1])
	}
	var rejects int64
	var notes []string
	for _, s := range stats {
		rejects += s.Rejects[extract.RejectMalformed]
		for _, n := range s.Notes {
			notes = append(notes, n.Name+": "+n.Text)
		}
	}
	if rejects != 2 || len(notes) != 2 || !strings.Contains(notes[0], "d.parquet: corrupt") || !strings.Contains(notes[1], `no column "text"`) {
		t.Errorf("%d rejects, %q", rejects, notes)
	}
}

func TestALoneParquetFileThatCannotBeReadIsAnError(t *testing.T) {
	dir := t.TempDir()
	sound, err := os.ReadFile(fixture + "plain-snappy.parquet")
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(dir, "cut.parquet")
	writeFile(t, cut, string(sound[:len(sound)/2]))
	var corrupt *CorruptError
	if _, _, err := readAll(t, Options{}, cut); !errors.As(err, &corrupt) || corrupt.File != "cut.parquet" {
		t.Errorf("cut: got %v", err)
	}
	var unsupported *parquet.UnsupportedError
	if _, _, err := readAll(t, Options{Column: "sentence"}, fixture+"plain-none.parquet"); !errors.As(err, &unsupported) {
		t.Errorf("another column: got %v", err)
	}
}

func TestRowGroupsAreCutIntoTasks(t *testing.T) {
	path := fixture + "small-pages.parquet"
	tasks, err := Plan(Local{}, []string{path}, Options{})
	if err != nil || len(tasks) != 1 || tasks[0].Groups != 2 {
		t.Fatalf("got %+v, %v", tasks, err)
	}
	whole, _, err := readAll(t, Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, task := range []Task{{Path: Name(path), Kind: kindRows, Groups: 1}, {Path: Name(path), Kind: kindRows, First: 1, Groups: 1, Row: 40}} {
		for d, err := range NewReader(Local{}, task, Options{}).Documents() {
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, d.ID+"|"+d.Text)
		}
	}
	if diff := cmp.Diff(whole, parts); diff != "" {
		t.Error(diff)
	}
}

func TestRowsThatLookLikeSentencesAreNoted(t *testing.T) {
	dir := t.TempDir()
	var lines strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&lines, "sentence %d\n", i)
	}
	writeFile(t, dir+"/a.txt", lines.String())
	_, stats, err := readAll(t, Options{LinesPerDocument: 100}, dir)
	if err != nil || stats[0].Kept != 15 || len(stats[0].Notes) != 0 {
		t.Errorf("got %+v, %v", stats, err)
	}
}
