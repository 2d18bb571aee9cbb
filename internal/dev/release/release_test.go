package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// small returns a release of a source of a few files, and its programs for two
// platforms, which are texts.
func small(t *testing.T) (*release, []programs) {
	t.Helper()
	source := t.TempDir()
	for name, text := range map[string]string{
		"CHANGELOG.md":               "# Changes\n\n## 1.2.3\n\n- One.\n\n## 1.2.2, 2026-01-01\n",
		"README.md":                  "# pretext\n",
		"python/README.md":           "# For Python\n",
		"python/pretext/__init__.py": "VALUE = 1\n",
		"python/pretext/py.typed":    "",
		"python/pretext/a.pyc":       "not a source",
		"python/tests/test_a.py":     "not of the package",
	} {
		path := filepath.Join(source, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newRelease(source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	r.pages = []file{{manPages + "prepare-data.1", 0o644, []byte(".TH x\n")}, {bashPages + "train-bert", 0o644, []byte("complete\n")}}
	var built []programs
	for _, p := range []platform{platforms[0], platforms[len(platforms)-1]} {
		out := programs{platform: p}
		for _, name := range programNames {
			out.files = append(out.files, file{p.executable(name), 0o755, []byte("program " + name + " for " + p.String())})
			out.built = append(out.built, &debug.BuildInfo{GoVersion: "go1.99.1", Settings: []debug.BuildSetting{{Key: "-tags", Value: "cluster"}},
				Deps: []*debug.Module{{Path: "example.org/Two/v2", Version: "v2.0.0+incompatible", Sum: "h1:AAAA="}, {Path: "example.org/one", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/fork", Version: "v1.0.1"}}}})
		}
		built = append(built, out)
	}
	return r, built
}

// written returns the files of a release.
func written(t *testing.T, r *release, built []programs) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if err := r.write(built, func(name string, data []byte) error { files[name] = data; return nil }); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestAReleaseOfTheSameSourceHasTheSameBytes(t *testing.T) {
	r, built := small(t)
	again, _ := small(t) // in another folder, at another time
	first, second := written(t, r, built), written(t, again, built)
	for name, data := range first {
		if !bytes.Equal(data, second[name]) {
			t.Errorf("%s differs", name)
		}
	}
	built[0].files[0].data = []byte("another program")
	if third := written(t, r, built); bytes.Equal(third["SHA256SUMS"], first["SHA256SUMS"]) {
		t.Error("another program gives the same sums")
	}
}

func TestTheSumsAreThoseOfAllFiles(t *testing.T) {
	r, built := small(t)
	files := written(t, r, built)
	var want []string
	for name, data := range files {
		if name != "SHA256SUMS" {
			want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(data), name))
		}
	}
	got := strings.Split(strings.TrimSuffix(string(files["SHA256SUMS"]), "\n"), "\n")
	if !slices.IsSortedFunc(got, func(a, b string) int { return strings.Compare(a[66:], b[66:]) }) {
		t.Errorf("not sorted by name:\n%s", files["SHA256SUMS"])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// contents returns the files of an archive, with their permissions.
func contents(t *testing.T, name string, data []byte) map[string]file {
	t.Helper()
	files := map[string]file{}
	add := func(name string, mode os.FileMode, r io.Reader) {
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = file{name, mode, text}
	}
	if strings.HasSuffix(name, ".tar.gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(z); ; {
			h, err := r.Next()
			if err == io.EOF {
				return files
			}
			if err != nil {
				t.Fatal(err)
			}
			add(h.Name, os.FileMode(h.Mode), r)
		}
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		add(f.Name, f.Mode(), r)
		r.Close()
	}
	return files
}

func TestAnArchiveHasProgramsPagesAndDocuments(t *testing.T) {
	r, built := small(t)
	if err := os.WriteFile(filepath.Join(r.source, "LICENSE"), []byte("To be chosen\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	files := written(t, r, built)
	for name, folder := range map[string]string{"pretext-1.2.3-linux-amd64.tar.gz": "pretext-1.2.3-linux-amd64", "pretext-1.2.3-windows-amd64.zip": "pretext-1.2.3-windows-amd64"} {
		got := contents(t, name, files[name])
		suffix := ""
		if strings.Contains(name, "windows") {
			suffix = ".exe"
		}
		for path, mode := range map[string]os.FileMode{ // beside these, the notices
			"bin/prepare-data" + suffix: 0o755, "bin/train-bert" + suffix: 0o755,
			"share/man/man1/prepare-data.1": 0o644, "share/bash-completion/completions/train-bert": 0o644,
			"share/doc/pretext/README.md": 0o644, "share/doc/pretext/CHANGELOG.md": 0o644, "share/doc/pretext/LICENSE": 0o644,
		} {
			f, ok := got[folder+"/"+path]
			if !ok || f.mode != mode || len(f.data) == 0 {
				t.Errorf("%s: %s: got %v with mode %v, want mode %v", name, path, ok, f.mode, mode)
			}
		}
		if len(got) != 8 {
			t.Errorf("%s has %d files, want 8", name, len(got))
		}
	}
}

func TestTheRecordOfAWheelHoldsEveryFile(t *testing.T) {
	r, built := small(t)
	const name = "pretext-1.2.3-py3-none-win_amd64.whl"
	got := contents(t, name, written(t, r, built)[name])
	rows, err := csv.NewReader(bytes.NewReader(got["pretext-1.2.3.dist-info/RECORD"].data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		f, ok := got[row[0]]
		sum := sha256.Sum256(f.data)
		want := []string{row[0], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(f.data))}
		if row[0] == "pretext-1.2.3.dist-info/RECORD" {
			want[1], want[2] = "", ""
		}
		if !ok || !slices.Equal(row, want) {
			t.Errorf("got %q, want %q", row, want)
		}
	}
	if len(rows) != len(got) {
		t.Errorf("%d rows for %d files", len(rows), len(got))
	}
	for _, path := range []string{"pretext/__init__.py", "pretext/py.typed", "pretext-1.2.3.data/scripts/prepare-data.exe", "pretext-1.2.3.data/data/share/man/man1/prepare-data.1"} {
		if _, ok := got[path]; !ok {
			t.Errorf("%s is missing", path)
		}
	}
	if _, ok := got["pretext/a.pyc"]; ok {
		t.Error("a compiled file is in the wheel")
	}
	if f := got["pretext-1.2.3.data/scripts/train-bert.exe"]; f.mode != 0o755 {
		t.Errorf("the program has mode %v", f.mode)
	}
}

func TestTheVersionIsThatOfTheFirstHeading(t *testing.T) {
	for changes, want := range map[string]string{
		"# Changes\n\n## 0.2.0, 2026-12-01\n## 0.1.0\n": "0.2.0",
		"## 10.20.30\n":              "10.20.30",
		"# Changes\n## Unreleased\n": "",
		"# Changes\n":                "",
		"## 1.2\n":                   "",
	} {
		if got, err := newest([]byte(changes)); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v, want %q", changes, got, err, want)
		}
	}
}

// What a release begins with is a version, and what it consists of is there.
func TestTheRepositoryCanBeReleased(t *testing.T) {
	r, err := newRelease(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if _, err := r.documents(); err != nil {
		t.Error(err)
	}
	if _, err := r.metadata(); err != nil {
		t.Error(err)
	}
	files, err := r.pythonPackage()
	if err != nil || !slices.ContainsFunc(files, func(f file) bool { return f.name == "pretext/__init__.py" }) {
		t.Errorf("python/pretext: %d files, %v", len(files), err)
	}
}
