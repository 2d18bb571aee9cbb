package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// changes are the lists of "Where do I change" in docs/internals.md, and for each the
// traces of an example that the project has: what a change of this kind leaves in the code.
// A test compares the Go files with such a trace with those of the list.
var changes = []struct {
	section string
	// traces matches an identifier, two with a period between them, or a string literal as
	// a whole, as it stands in the code. Comments and import declarations do not count.
	traces string
	in     []string // folders to search; none: the whole module
}{
	{section: "A recipe", traces: `records\.(Masked|Tokens|Packed|Pieces)|Packer|NewPacker|packedRecipe|slicer|newSlicer|piecesRecipe|"packed"|mlmRecipe|NewMLMBuilder|"mlm"|tokensRecipe|NewSplitter`},
	{section: "A count in the manifest", traces: `XMLBytes`},
	{section: "A learning-rate schedule", traces: `WSD|"wsd"|DecaySteps|"decay-steps"`},
	{section: "An output format", traces: `webdataset|"webdataset"`},
	{section: "A kind of error", traces: `ExitDoesNotFit|doesNotFit|"does-not-fit"`},
	{section: "A flag or a setting", traces: `"keep-disambiguations"`},
	{section: "A rule of the filter", traces: `loremIpsum|"max-lorem-ipsum"`},
	{section: "A kernel for the GPU", traces: `"norm_forward"`},
}

// listed matches an item of a list: the files before its first colon.
var listed = regexp.MustCompile("(?m)^[0-9]+\\. (`[^:]*):")

// quoted matches a name of a file in such an item.
var quoted = regexp.MustCompile("`([^`]+)`")

// whereToChange returns the lists of docs/internals.md by heading.
func whereToChange(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root(), "docs", "internals.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(page), "\n## Where do I change\n")
	if !ok {
		t.Fatal(`docs/internals.md has no heading "Where do I change"`)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	lists := map[string][]string{}
	for _, section := range strings.Split(part, "\n### ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		lists[name] = nil
		for _, item := range listed.FindAllStringSubmatch(text, -1) {
			for _, file := range quoted.FindAllStringSubmatch(item[1], -1) {
				lists[name] = append(lists[name], file[1])
			}
		}
	}
	return lists
}

// Each list of "Where do I change" has files that exist, and ARCHITECTURE.md links to it.
func TestTheListsOfFilesToChangeNameFilesThatExist(t *testing.T) {
	architecture, err := os.ReadFile(filepath.Join(root(), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name, files := range whereToChange(t) {
		if len(files) == 0 {
			t.Errorf("%s: no item begins with the name of a file", name)
		}
		for _, file := range files {
			if _, err := os.Stat(filepath.Join(root(), filepath.FromSlash(file))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		anchor := "docs/internals.md#" + strings.ReplaceAll(strings.ToLower(name), " ", "-") + ")"
		if !bytes.Contains(architecture, []byte(anchor)) {
			t.Errorf("%s: ARCHITECTURE.md has no link to %s", name, strings.TrimSuffix(anchor, ")"))
		}
	}
}

// Each list of "Where do I change" names all Go files in which an existing example has traces,
// or their folder.
func TestTheListsOfFilesToChangeAreComplete(t *testing.T) {
	lists := whereToChange(t)
	files := changedByHand(t)
	for _, change := range changes {
		list, ok := lists[change.section]
		if !ok {
			t.Errorf("docs/internals.md has no list %q", change.section)
		}
		traces := regexp.MustCompile("^(?:" + change.traces + ")$")
		found := 0
		for file, tokens := range files {
			within := func(folder string) bool { return strings.HasPrefix(file, folder+"/") }
			if len(change.in) > 0 && !slices.ContainsFunc(change.in, within) {
				continue
			}
			if has := slices.ContainsFunc(tokens, traces.MatchString); has {
				found++
				if !slices.ContainsFunc(list, func(name string) bool { return file == name || strings.HasPrefix(file, name+"/") }) {
					t.Errorf("%s: %s has traces of an example, and is not in the list", change.section, file)
				}
			}
		}
		for _, file := range list {
			if tokens, ok := files[file]; ok && !slices.ContainsFunc(tokens, traces.MatchString) {
				t.Errorf("%s: %s is in the list, and has no trace of an example", change.section, file)
			}
		}
		if found == 0 {
			t.Errorf("%s: no file has traces of an example", change.section)
		}
	}
}

// changedByHand returns the identifiers and string literals of each Go file outside of
// import declarations, without tests, generated files and internal/dev.
func changedByHand(t *testing.T) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(root(), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root(), path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if rel != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || rel == "internal/dev" || rel == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		if !ast.IsGenerated(f) {
			files[rel] = tokensOf(text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 300 {
		t.Fatalf("%d Go files were seen: is the module's root right?", len(files))
	}
	return files
}

// tokensOf returns the identifiers and string literals of a Go file without its imports,
// and each two identifiers with a period between them.
func tokensOf(text []byte) (tokens []string) {
	set := token.NewFileSet()
	var s scanner.Scanner
	s.Init(set.AddFile("", set.Base(), len(text)), text, nil, 0)
	imports, before, period := false, "", false
	for {
		_, tok, literal := s.Scan()
		switch tok {
		case token.EOF:
			return tokens
		case token.IMPORT:
			imports = true
		case token.CONST, token.VAR, token.TYPE, token.FUNC:
			imports = false
		case token.IDENT, token.STRING:
			if !imports {
				tokens = append(tokens, literal)
			}
			if period {
				tokens = append(tokens, before+"."+literal)
			}
		}
		period = tok == token.PERIOD
		if !period {
			before = literal
		}
	}
}
