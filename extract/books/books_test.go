package books

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/extract"
)

// memory is a store of files by their whole path.
type memory map[string]string

func (m memory) List(path string) ([]Info, error) {
	if content, ok := m[path]; ok {
		return []Info{{"", int64(len(content))}}, nil
	}
	var files []Info
	for name, content := range m {
		if rest, ok := strings.CutPrefix(name, path+"/"); ok {
			files = append(files, Info{rest, int64(len(content))})
		}
	}
	if files == nil {
		return nil, fs.ErrNotExist
	}
	return files, nil
}

type memoryFile struct{ *strings.Reader }

func (memoryFile) Close() error { return nil }

func (m memory) Open(path, name string) (File, error) {
	if name != "" {
		path += "/" + name
	}
	content, ok := m[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return memoryFile{strings.NewReader(content)}, nil
}

// read reads one file of a name that stands for its kind.
func read(tb testing.TB, name, content string, opts Options) ([]extract.Document, Stats, error) {
	tb.Helper()
	r := NewReader(memory{"in/" + name: content}, Task{Path: Name("in/" + name), Kind: kindFile}, opts)
	docs, err := drain(r)
	checkStats(tb, r.Stats(), len(docs))
	return docs, r.Stats(), err
}

func drain(r *Reader) (docs []extract.Document, _ error) {
	for doc, err := range r.Documents() {
		if err != nil {
			return docs, err
		}
		docs = append(docs, *doc)
	}
	return docs, nil
}

// checkStats checks what holds of all stats.
func checkStats(tb testing.TB, s Stats, kept int) {
	tb.Helper()
	sum := s.Kept
	for _, n := range s.Rejects {
		sum += n
	}
	if sum != s.Books || s.Kept != int64(kept) {
		tb.Errorf("stats do not add up: %d documents, %+v", kept, s)
	}
}

// readText reads one text file that must not fail.
func readText(tb testing.TB, content string, opts Options) (string, Stats) {
	tb.Helper()
	docs, stats, err := read(tb, "book.txt", content, opts)
	if err != nil {
		tb.Fatal(err)
	}
	if len(docs) == 0 {
		return "", stats
	}
	return docs[0].Text, stats
}

// A member is what the tests put into archives.
type member struct{ name, content string }

func tarOf(tb testing.TB, members ...member) string {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: m.name, Size: int64(len(m.content)), Mode: 0o644})
		if err == nil {
			_, err = io.WriteString(w, m.content)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func zipOf(tb testing.TB, members ...member) string {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err == nil && !strings.HasSuffix(m.name, "/") {
			_, err = io.WriteString(f, m.content)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func gzipOf(tb testing.TB, content string) string {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, content)
	if err := cmp.Or(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

func ids(docs []extract.Document) []string {
	out := []string{}
	for _, d := range docs {
		out = append(out, d.ID)
	}
	return out
}

func TestAnyPackingGivesTheSameBooks(t *testing.T) {
	members := []member{
		{"shelf/b.txt", "Second\nbook.\n"}, {"shelf/a.TXT", "First book.\n"}, {"shelf/cover.jpg", "no book"},
		{"shelf/e.epub", simpleEPUB(t)}, {"shelf/.hidden.txt", "no"}, {"__MACOSX/._a.txt", "no"},
	}
	want := []extract.Document{
		{ID: "books:shelf/b.txt", Title: "b", Text: "Second\nbook.", Lang: "en"},
		{ID: "books:shelf/a.TXT", Title: "a", Text: "First book.", Lang: "en"},
		{ID: "books:shelf/e.epub", Title: "The Title", Text: "One.\nTwo.", Lang: "fr"},
	}
	tarball := tarOf(t, members...)
	for name, content := range map[string]string{
		"x.tar": tarball, "x.tar.gz": gzipOf(t, tarball), "x.tgz": gzipOf(t, tarball), "x.zip": zipOf(t, members...),
		"no-extension": tarball, "wrong.txt": zipOf(t, members...),
		"members.tgz": gzipOf(t, tarball[:1000]) + gzipOf(t, tarball[1000:]),
	} {
		docs, stats, err := read(t, name, content, Options{Lang: "en", KeepLines: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var expected []extract.Document
		for _, d := range want {
			d.Source = name
			expected = append(expected, d)
		}
		if diff := gocmp.Diff(expected, docs); diff != "" {
			t.Errorf("%s: documents (-want +got):\n%s", name, diff)
		}
		if stats.Skipped != 3 {
			t.Errorf("%s: %d skipped, want 3", name, stats.Skipped)
		}
	}
}

func TestFolderIsReadInTheOrderOfItsPaths(t *testing.T) {
	store := memory{}
	for _, name := range []string{"b.txt", "a/z.txt", "a.txt", "a/b/c.txt", "B.txt", "a-b.txt", "é.txt", "x.epub", "readme.md", ".x.txt"} {
		store["in/books/"+name] = "Text of " + name + ".\n"
	}
	store["in/books/x.epub"] = simpleEPUB(t)
	tasks, err := Plan(store, []string{"in/books"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(store, tasks[0], Options{})
	docs, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"books:B.txt", "books:a-b.txt", "books:a.txt", "books:a/b/c.txt", "books:a/z.txt", "books:b.txt", "books:x.epub", "books:é.txt"}
	if diff := gocmp.Diff(want, ids(docs)); diff != "" {
		t.Errorf("IDs (-want +got):\n%s", diff)
	}
	if docs[0].Source != "books" || r.Stats().Skipped != 2 {
		t.Errorf("got source %q and %d skipped, want books and 2", docs[0].Source, r.Stats().Skipped)
	}
}

func TestPlanGroupsConsecutiveFiles(t *testing.T) {
	var files []Info
	for _, f := range []struct {
		name string
		mb   int64
	}{{"a.txt", 20}, {"b.txt", 12}, {"c.txt", 1}, {"d.txt", 40}, {"e.txt", 0}, {"f.jpg", 1}, {"g.txt", 32}} {
		files = append(files, Info{f.name, f.mb << 20})
	}
	slices.Reverse(files)
	got, err := planner{store: Local{}, path: "dir"}.folder(files)
	if err != nil {
		t.Fatal(err)
	}
	want := []Task{
		{Path: "dir", Kind: kindFolder, Files: []Name{"a.txt", "b.txt"}, Bytes: 32 << 20, Skipped: 1},
		{Path: "dir", Kind: kindFolder, Files: []Name{"c.txt"}, Bytes: 1 << 20},
		{Path: "dir", Kind: kindFolder, Files: []Name{"d.txt"}, Bytes: 40 << 20},
		{Path: "dir", Kind: kindFolder, Files: []Name{"e.txt", "g.txt"}, Bytes: 32 << 20},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}

func TestPlanRefusesWhatHasNoBooks(t *testing.T) {
	if _, err := Plan(memory{"in/x.jpg": ""}, []string{"in"}, Options{}); err == nil || !strings.Contains(err.Error(), "no .txt, .epub or .parquet") {
		t.Errorf("a folder without books: got %v", err)
	}
	if _, err := Plan(memory{}, []string{"nowhere"}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: got %v, want ErrNotExist", err)
	}
}

func TestTasksTravelAsJSON(t *testing.T) {
	task := Task{Path: "d\xff", Kind: kindFolder, Files: []Name{"plain.txt", "bücher.txt", "b\xfccher.txt", "<&>\u2028.txt"}, Bytes: 3, Skipped: 1}
	b, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	var got Task
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(task, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

func TestLocalFolders(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, dir+"/a.txt", "A.")
	writeFile(t, dir+"/sub/b\xff.txt", "B.")
	symlink(t, dir+"/a.txt", dir+"/link.txt")
	symlink(t, dir, dir+"/sub/loop")
	symlink(t, dir+"/nowhere", dir+"/broken.txt")
	for _, path := range []string{dir, dir + "/"} {
		tasks, err := Plan(Local{}, []string{path}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := NewReader(Local{}, tasks[0], Options{})
		docs, err := drain(r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff([]string{"books:a.txt", "books:link.txt", "books:sub/b.txt"}, ids(docs)); diff != "" {
			t.Errorf("%s: IDs (-want +got):\n%s", path, diff)
		}
	}
	tasks, err := Plan(Local{}, []string{dir + "/a.txt"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := drain(NewReader(Local{}, tasks[0], Options{}))
	want := []extract.Document{{ID: "books:a.txt", Title: "a", Text: "A.", Source: "a.txt"}}
	if diff := gocmp.Diff(want, docs); diff != "" || err != nil {
		t.Errorf("lone file: %v (-want +got):\n%s", err, diff)
	}
}

func TestEqualIDsAreKeptAndCounted(t *testing.T) {
	docs, stats, err := read(t, "x.tar", tarOf(t, member{"a.txt", "One."}, member{"./a.txt", "Two."}, member{`.\a.txt`, "Three."}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff([]string{"books:a.txt", "books:a.txt", "books:a.txt"}, ids(docs)); diff != "" || stats.Duplicates != 2 {
		t.Errorf("%d duplicates, IDs (-want +got):\n%s", stats.Duplicates, diff)
	}
}

func TestReadingStopsWhenAsked(t *testing.T) {
	for name, content := range map[string]string{
		"x.tar": tarOf(t, member{"a.txt", "One."}, member{"b.txt", "Two."}),
		"x.zip": zipOf(t, member{"a.txt", "One."}, member{"b.epub", simpleEPUB(t)}),
		"x.txt": "One.",
	} {
		r := NewReader(memory{name: content}, Task{Path: Name(name), Kind: kindFile}, Options{})
		for range r.Documents() {
			break
		}
		if got := r.Stats().Kept; got != 1 {
			t.Errorf("%s: got %d documents, want 1", name, got)
		}
	}
}

func TestNamesAreCleaned(t *testing.T) {
	for _, test := range []struct {
		in, want string
		ok       bool
	}{
		{"a.txt", "a.txt", true},
		{"./txt//a.txt", "txt/a.txt", true},
		{"../../etc/passwd.txt", "etc/passwd.txt", true},
		{"/abs/a.txt", "abs/a.txt", true},
		{`..\..\win\a.txt`, "win/a.txt", true},
		{`C:\books\a.txt`, "C:/books/a.txt", true},
		{"a\x00b\x1b[31m\n.txt", "ab[31m.txt", true},
		{"b\xfccher.txt", "bcher.txt", true},
		{"ünï cödé  name (1).txt", "ünï cödé  name (1).txt", true},
		{"a/..", "a", true},
		{"..", "", false},
		{"", "", false},
		{"///", "", false},
		{"\x00\xff", "", false},
		{strings.Repeat("é", 512), strings.Repeat("é", 512), true},
		{strings.Repeat("é", 512) + "a", "", false},
		{strings.Repeat("/", 1<<20), "", false},
	} {
		got, ok := cleanName(test.in)
		if ok != test.ok || ok && got != test.want {
			t.Errorf("%.50q: got %.50q, %v; want %.50q, %v", test.in, got, ok, test.want, test.ok)
		}
	}
}

func FuzzCleanName(f *testing.F) {
	f.Add("../a\x00\\b.txt")
	f.Add("\u2028/./c:\xff")
	f.Fuzz(func(t *testing.T, name string) {
		clean, ok := cleanName(name)
		if !ok {
			return
		}
		if again, ok := cleanName(clean); !ok || again != clean {
			t.Fatalf("%q is cleaned to %q, and that to %q", name, clean, again)
		}
		if !fs.ValidPath(clean) || strings.ContainsAny(clean, "\\\x00\n") {
			t.Fatalf("%q is cleaned to %q", name, clean)
		}
	})
}
