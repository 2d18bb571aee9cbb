package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// allowed says for each package (and the packages below it, unless they have a
// row of their own) which other packages of the module its code may import.
// Tests are free.
var allowed = map[string][]string{
	"internal/usage":           {},
	"internal/store":           {"internal/failure"},
	"internal/store/s3":        {"internal/failure", "internal/redact", "internal/store"},
	"internal/failure":         {},
	"internal/whoami":          {},
	"internal/trust":           {"internal/failure"},
	"internal/metrics":         {"internal/trust"},
	"untested":                 {},
	"internal/redact":          {},
	"internal/version":         {},
	"internal/recognize":       {"internal/failure", "internal/store"},
	"internal/portable":        {},
	"internal/hugepages":       {},
	"internal/sumpair":         {},
	"internal/pyrandom":        {},
	"internal/democorpus":      {},
	"internal/pyspace":         {},
	"internal/utf8scan":        {},
	"counts":                   {},
	"extract/wiki/facts":       {"counts", "internal/humanize"},
	"extract":                  {"counts", "internal/failure", "internal/utf8scan", "extract/parallel"},
	"extract/parallel":         {"internal/usage"},
	"extract/bzip2":            {"internal/failure", "internal/hugepages"},
	"extract/text":             {"counts", "extract/internal/counting", "internal/failure", "extract", "internal/pyspace"},
	"extract/download":         {"internal/failure", "internal/store", "internal/redact"},
	"extract/books":            {"counts", "extract/internal/counting", "extract/internal/words", "internal/failure", "extract", "extract/parallel", "extract/text", "extract/parquet"},
	"extract/parquet":          {},
	"extract/quality":          {"extract", "extract/internal/words"},
	"extract/dedup":            {"extract/internal/words"},
	"extract/wiki":             {"counts", "extract/wiki/facts", "extract/internal/counting", "internal/failure", "internal/recognize", "extract", "extract/bzip2", "extract/wiki/wikitext", "extract/wiki/rendering", "extract/wiki/definitions", "extract/wiki/internal/namespace", "internal/utf8scan"},
	"extract/wiki/wikihtml":    {"counts", "extract/wiki/facts", "extract", "extract/internal/counting", "internal/failure", "extract/wiki", "extract/wiki/wikitext"},
	"extract/wiki/learn":       {"extract", "extract/wiki", "extract/wiki/rendering", "extract/wiki/wikihtml", "extract/wiki/wikitext"},
	"extract/wiki/rendering":   {},
	"extract/wiki/definitions": {"internal/failure", "internal/extsort"},
	"extract/wiki/wikitext":    {"extract/wiki/rendering", "extract/wiki/internal/locale", "extract/wiki/internal/lua", "extract/wiki/internal/namespace", "extract/wiki/internal/scribunto", "internal/portable"},

	"extract/wiki/internal/locale":    {},
	"extract/wiki/internal/namespace": {},
	"extract/wiki/internal/lua":       {"internal/portable"},
	"extract/wiki/internal/scribunto": {"extract/wiki/internal/locale", "extract/wiki/internal/lua", "extract/wiki/internal/namespace"},

	"tokenize":          {"internal/hugepages", "internal/pyspace"},
	"tokenize/sentence": {"internal/pyspace"},
	"tokenize/vocab":    {"internal/portable", "tokenize", "tokenize/hf", "tokenize/internal/bytetrie"},
	"tokenize/hf":       {"internal/failure", "tokenize", "tokenize/internal/bytetrie", "tokenize/internal/hfunicode", "tokenize/internal/onig"},

	"tokenize/internal/bytetrie":  {},
	"tokenize/internal/hfunicode": {},
	"tokenize/internal/onig":      {"tokenize/internal/hfunicode"},

	"records":           {"internal/failure"},
	"records/tfrecord":  {"internal/failure"},
	"records/pretrain":  {"records", "tokenize", "internal/pyrandom"},
	"sharding":          {"counts", "extract/wiki/facts", "internal/failure", "internal/portable", "extract", "records", "records/pretrain", "records/tfrecord", "tokenize", "tokenize/hf", "tokenize/sentence", "tokenize/vocab", "internal/humanize", "internal/recognize", "internal/store", "internal/extsort"},
	"sharding/examples": {"internal/failure", "internal/store", "records", "records/columns", "records/columns/consumers", "records/columns/formats", "records/tfrecord", "sharding", "tokenize"},
	"sharding/compat":   {"internal/failure", "internal/humanize", "internal/store", "records", "records/columns", "records/columns/consumers", "records/columns/formats", "records/pretrain", "records/tfrecord", "sharding", "sharding/examples", "tokenize"},
	"sharding/verify":   {"counts", "internal/failure", "extract", "records", "records/columns", "records/pretrain", "records/tfrecord", "sharding", "sharding/examples", "tokenize", "internal/extsort", "internal/store"},

	// Formats of examples beside TFRecord, a package each, and "formats", their list.
	"records/columns":           {"internal/failure", "records"},
	"records/columns/consumers": {"internal/failure", "records/columns", "records/columns/formats", "records/pretrain"},
	"pipeline/convert":          {"counts", "internal/failure", "records", "records/columns", "records/columns/consumers", "records/columns/formats", "records/pretrain", "records/tfrecord", "sharding", "sharding/examples", "tokenize", "pipeline/stage", "internal/store", "internal/sumpair"},

	"sharding/export": {"internal/failure", "records", "records/tfrecord", "sharding", "tokenize", "tokenize/sentence", "internal/store"},
	"pipeline": {"counts", "extract/wiki/facts", "internal/failure", "records/columns/consumers", "records/columns/formats", "extract", "extract/bzip2", "extract/wiki", "extract/wiki/wikihtml", "extract/wiki/rendering", "extract/wiki/definitions", "extract/wiki/wikitext", "extract/books", "extract/parallel", "extract/text", "extract/download", "extract/quality", "extract/dedup", "tokenize", "tokenize/sentence", "tokenize/vocab", "tokenize/hf",
		"records", "records/tfrecord", "records/pretrain", "sharding", "pipeline/stage", "internal/recognize", "internal/store", "internal/usage", "internal/extsort", "internal/pyrandom", "internal/democorpus", "internal/redact", "pipeline/documents", "pipeline/filter"},
	"pipeline/documents": {"extract", "extract/parallel", "sharding", "pipeline/stage"},
	"pipeline/filter":    {"counts", "pipeline/documents", "internal/extsort", "internal/failure", "extract", "extract/dedup", "extract/quality", "sharding", "pipeline/stage", "internal/store"},
	// The engine knows no stage.
	"pipeline/stage":               {"counts", "internal/failure", "extract", "extract/parallel", "sharding", "internal/store", "internal/sumpair", "internal/usage", "internal/whoami", "internal/redact", "internal/version", "internal/trust", "pipeline/flink"},
	"pipeline/flink":               {"internal/failure", "internal/metrics", "internal/redact", "internal/trust"},
	"trainer":                      {"records", "sharding", "tokenize", "internal/store"},
	"trainer/loader":               {"internal/failure", "trainer", "trainer/dropout", "records", "records/tfrecord", "sharding", "sharding/examples", "tokenize", "internal/store"},
	"trainer/comm":                 {"internal/failure", "internal/trust", "trainer", "trainer/comm"},
	"trainer/optim":                {"trainer"},
	"trainer/dropout":              {},
	"trainer/checkpoint":           {"internal/failure", "trainer", "trainer/checkpoint/torchfile", "internal/store", "tokenize", "tokenize/hf"},
	"trainer/checkpoint/torchfile": {"internal/store"},
	"trainer/finetune":             {"internal/failure", "trainer", "tokenize", "internal/pyspace"},
	"trainer/cpu":                  {"internal/hugepages", "trainer", "trainer/dropout", "trainer/internal/bert", "trainer/optim"},
	"trainer/cuda":                 {"trainer", "trainer/dropout", "trainer/internal/bert"},
	"trainer/internal/bert":        {"trainer"},
	// A run from files to files. Never cmd: options come as plain structs.
	"trainer/session": {"internal/failure", "trainer", "trainer/checkpoint", "trainer/comm", "trainer/cpu", "trainer/cuda", "trainer/cuda/device", "trainer/cuda/driver", "trainer/loader", "trainer/finetune", "trainer/finetune/squad", "trainer/finetune/glue",
		"records", "records/tfrecord", "sharding", "tokenize", "tokenize/hf", "internal/recognize", "internal/store", "internal/humanize", "internal/plot"},
	"trainer/session/speed": {"internal/failure", "internal/store", "internal/usage", "sharding", "trainer", "trainer/loader", "trainer/session"},
	// Tests that every backend and communicator shares, and stand-ins for them.
	"trainer/backendtest":       {"trainer", "trainer/cpu", "trainer/internal/ranktest"},
	"trainer/internal/ranktest": {"trainer"},
	"sharding/survey":           {"counts", "extract/wiki/facts", "extract", "extract/dedup", "records/columns", "records/columns/consumers", "records/columns/formats", "records", "records/pretrain", "records/tfrecord", "sharding", "sharding/examples", "tokenize", "tokenize/hf", "internal/store", "internal/extsort", "internal/humanize", "internal/plot", "internal/redact"},
	"internal/extsort":          {},
	"internal/config":           {},
	"internal/doctor":           {"internal/store", "internal/humanize"},
	"internal/humanize":         {},
	"internal/plot":             {},
	"cmd/internal/cli":          {"internal/config", "internal/failure", "cmd/internal/onefile", "internal/recognize", "internal/store", "internal/redact", "internal/version"},
	"cmd/internal/onefile":      {"internal/failure", "internal/recognize", "internal/store", "sharding"},
	"cmd/internal/clitest":      {"cmd/internal/cli"},
	"cmd/internal/gencommands":  {"counts", "cmd/internal/cli", "cmd/prepare-data/command", "cmd/train-bert/command"},
	"cmd/prepare-data":          {"*"},
	// Never pipeline: what they share is the files of docs/file-format.md.
	"cmd/train-bert": {"cmd/internal/cli", "trainer", "trainer/comm", "trainer/comm/launch", "trainer/session", "trainer/session/speed", "trainer/checkpoint", "trainer/cuda/doctor", "trainer/loader",
		"trainer/finetune", "trainer/finetune/squad", "trainer/finetune/glue", "trainer/finetune/predict", "records", "records/tfrecord", "sharding", "internal/failure", "cmd/internal/onefile", "internal/store", "internal/store/s3", "internal/trust", "internal/usage", "internal/humanize"},
	// What tests and developers run stands on all; nothing stands on it.
	"internal/dev": {"*"},
	// As another module may: no internal package.
	"internal/dev/libraryprogram": {"extract/wiki", "records/pretrain", "sharding", "trainer/loader"},
}

// only says which packages alone may import another module (by prefix of its
// path).
var only = map[string][]string{
	"github.com/apache/beam":       {"pipeline/stage", "pipeline/flink"},
	"google.golang.org/grpc":       {"pipeline/flink"},
	"github.com/spf13/cobra":       {"cmd"},
	"go.yaml.in/yaml":              {"internal/config", "sharding/survey/card", "cmd/internal/cli"},
	"github.com/vbauerster/mpb":    {"cmd"},
	"github.com/cespare":           {"extract", "sharding"},
	"github.com/klauspost":         {"extract", "records", "pipeline", "trainer", "internal/recognize"},
	"github.com/gofrs/flock":       {"internal/store"},
	"github.com/minio":             {"internal/store/s3"},
	"github.com/neurosnap":         {"tokenize/sentence"},
	"github.com/sugarme/tokenizer": {}, // tests alone
	"C":                            {"trainer/cuda"},
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	seen := map[string]bool{}
	for pkg, imports := range imports(t) {
		row, rules := rowOf(pkg)
		seen[row] = true
		for _, imp := range imports {
			if own, ok := strings.CutPrefix(imp, "pretext/"); ok {
				if row == "" {
					t.Errorf("package %s has no row in the table", pkg)
				} else if !mayImport(row, rules, pkg, own) {
					t.Errorf("package %s imports %s, which the table does not allow", pkg, own)
				}
			}
			for _, prefix := range slices.Sorted(maps.Keys(only)) {
				if imp != prefix && !strings.HasPrefix(imp, prefix+"/") {
					continue
				}
				if !slices.ContainsFunc(only[prefix], func(p string) bool { return below(pkg, p) }) {
					t.Errorf("package %s imports %s, which only %v may", pkg, imp, only[prefix])
				}
			}
		}
	}
	if !seen["pipeline"] || !seen["extract"] {
		t.Error("the parser saw no packages: is the module's root right?")
	}
}

func TestTrainerNeverImportsPipeline(t *testing.T) {
	for pkg, imports := range imports(t) {
		if below(pkg, "trainer") && slices.Contains(imports, "pretext/pipeline") {
			t.Errorf("package %s imports pipeline: their contract is the shard folder", pkg)
		}
	}
}

// Faults are injected by tests alone, and by what only tests import.
func TestOnlyTestsInterceptTheStepsOfFolders(t *testing.T) {
	files := 0
	walk(t, 0, func(pkg string, f *ast.File) {
		files++
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Intercept" && pkg != "internal/dev/powerloss" {
				t.Errorf("package %s calls %s outside its tests", pkg, sel.Sel.Name)
			}
			return true
		})
	})
	if files < 100 {
		t.Errorf("the parser saw %d files only: is the module's root right?", files)
	}
}

// Benches, generators and support of tests stand on the product, never under it.
func TestOnlyTestsImportWhatIsForDevelopers(t *testing.T) {
	for pkg, imports := range imports(t) {
		for _, imp := range imports {
			if below(imp, "pretext/internal/dev") && !below(pkg, "internal/dev") {
				t.Errorf("package %s imports %s outside its tests", pkg, imp)
			}
		}
	}
}

// Outsiders can name every type in the API of the library.
func TestPublicSignaturesNameNoInternalType(t *testing.T) {
	signatures := 0
	walk(t, 0, func(pkg string, f *ast.File) {
		if strings.Contains("/"+pkg+"/", "/internal/") || below(pkg, "cmd") || below(pkg, "pipeline") || f.Name.Name == "main" {
			return
		}
		internal := map[string]bool{} // imports, by the name used in the file
		for _, imp := range f.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			name := path[strings.LastIndexByte(path, '/')+1:]
			if imp.Name != nil {
				name = imp.Name.Name
			}
			internal[name] = strings.Contains(path, "/internal/")
		}
		ast.FileExports(f) // removes what is not exported, and bodies of functions
		for _, d := range f.Decls {
			signatures++
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BlockStmt:
					return false
				case *ast.ValueSpec: // the value of an exported variable may be made by an internal package
					n.Values = nil
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && internal[x.Name] {
						t.Errorf("package %s: the API names %s.%s of an internal package", pkg, x.Name, n.Sel.Name)
					}
				}
				return true
			})
		}
	})
	if signatures < 500 {
		t.Errorf("the parser saw %d exported declarations only", signatures)
	}
}

// ARCHITECTURE.md names every row of the table and only packages that exist, on two screens.
func TestThePageNamesThePackagesOfTheTable(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root(), "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) > 125 {
		t.Errorf("the page has %d lines: move details to docs/internals.md", len(lines))
	}
	named := map[string]bool{}
	for i, line := range lines {
		if n := utf8.RuneCountInString(line); n > 110 {
			t.Errorf("line %d has %d columns", i+1, n)
		}
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(cell, "`") {
			for name := range strings.SplitSeq(strings.TrimSuffix(cell, " …"), ", ") {
				named[strings.Trim(name, "`")] = true
			}
		}
	}
	for pkg := range allowed {
		below := func(name string) bool { return strings.HasPrefix(name, pkg+"/") }
		if !named[pkg] && !slices.ContainsFunc(slices.Collect(maps.Keys(named)), below) {
			t.Errorf("no row of the page names %s", pkg)
		}
	}
	for pkg := range named {
		if info, err := os.Stat(filepath.Join(root(), pkg)); err != nil || !info.IsDir() {
			t.Errorf("the page names %s, which is not there", pkg)
		}
	}
}

// rowOf returns the longest row of the table that a package stands below.
func rowOf(pkg string) (row string, rules []string) {
	for r, rule := range allowed {
		if below(pkg, r) && len(r) > len(row) {
			row, rules = r, rule
		}
	}
	return row, rules
}

func mayImport(row string, rules []string, pkg, imp string) bool {
	if slices.Contains(rules, "*") || slices.Contains(rules, imp) {
		return true
	}
	if below(row, "trainer") && row != "trainer" && imp == "trainer" {
		return true
	}
	// A package may use what lies inside its own row.
	r, _ := rowOf(imp)
	return r == row && imp != pkg
}

func below(pkg, row string) bool { return pkg == row || strings.HasPrefix(pkg, row+"/") }

// imports returns the imports of each package's own code, by folder.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	walk(t, parser.ImportsOnly, func(pkg string, f *ast.File) {
		for _, imp := range f.Imports {
			p, err := strconv.Unquote(imp.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			out[pkg] = append(out[pkg], p)
		}
	})
	return out
}

// sources has the lines of all files that were parsed.
var sources = token.NewFileSet()

// root returns the root of the module.
func root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "..", "..", "..")
}

// walk parses every file of the module that is no test.
func walk(t *testing.T, mode parser.Mode, visit func(pkg string, f *ast.File)) {
	t.Helper()
	walkFiles(t, mode, false, func(pkg string, f *ast.File, _ bool) { visit(pkg, f) })
}

// walkFiles parses every file of the module, if wanted tests too.
func walkFiles(t *testing.T, mode parser.Mode, tests bool, visit func(pkg string, f *ast.File, test bool)) {
	t.Helper()
	root := root()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		test := strings.HasSuffix(path, "_test.go")
		if !strings.HasSuffix(path, ".go") || test && !tests {
			return nil
		}
		f, err := parser.ParseFile(sources, path, nil, mode)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		visit(filepath.ToSlash(rel), f, test)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
