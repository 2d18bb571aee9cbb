package archtest

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// .gitattributes marks every file that says that it is generated, and no file that is
// not there.
func TestGeneratedFilesAreMarked(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(root(), ".gitattributes"))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for line := range strings.Lines(string(list)) {
		if pattern, ok := strings.CutSuffix(strings.TrimSpace(line), " linguist-generated"); ok {
			used[pattern] = false
		}
	}
	err = filepath.WalkDir(root(), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return err
		}
		rel, err := filepath.Rel(root(), file)
		if err != nil {
			return err
		}
		marked := false
		for pattern := range used {
			name := filepath.ToSlash(rel)
			if !strings.Contains(pattern, "/") {
				name = d.Name()
			}
			if ok, _ := path.Match(pattern, name); ok {
				marked, used[pattern] = true, true
			}
		}
		if !marked && saysGenerated(t, file) {
			t.Errorf("%s says that it is generated: .gitattributes does not", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, ok := range used {
		if !ok {
			t.Errorf(".gitattributes: %s is no file", pattern)
		}
	}
}

// saysGenerated reports whether a file of Go, assembler or PTX begins with the line of
// generated code, which go/ast.IsGenerated specifies.
func saysGenerated(t *testing.T, file string) bool {
	switch filepath.Ext(file) {
	case ".go", ".s", ".ptx":
	default:
		return false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := bytes.Cut(text, []byte("\npackage "))
	for line := range bytes.Lines(head) {
		if bytes.HasPrefix(line, []byte("// Code generated ")) && bytes.HasSuffix(bytes.TrimSpace(line), []byte("DO NOT EDIT.")) {
			return true
		}
	}
	return false
}
