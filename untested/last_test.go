package untested

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhatWasNotRun ends go test ./... with one line. It fails only where the
// tests cannot be read.
func TestWhatWasNotRun(t *testing.T) {
	t.Cleanup(func() { neverCached(t) }) // at the end, so that the file is young
	c, err := takeCensus(moduleRoot())
	if err != nil {
		t.Fatal(err)
	}
	line := c.line(here())
	if line == "" {
		return
	}
	t.Log(line)
	if !testing.Verbose() {
		tellGoCommand(t, line+"\n")
	}
}

// neverCached makes go test run this package each time: it does not cache a test
// that opened a file of the module younger than two seconds.
func neverCached(t *testing.T) {
	const name = ".ran" // git ignores it
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Log(err) // a read-only checkout: the line comes once
		return
	}
	if f, err := os.Open(name); err == nil {
		f.Close()
	}
}

// go test prints the results of packages in the order of their names.
func TestThisPackageIsTheLast(t *testing.T) {
	entries, err := os.ReadDir(moduleRoot())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() > "untested" {
			t.Errorf("folder %s comes after this one", e.Name())
		}
	}
}

// fixture is a module with tests that need things.
var fixture = map[string]string{
	"a/a_test.go": `package a
import ("testing"; "pretext/internal/dev/realdata")
func TestDirect(t *testing.T) { realdata.Read(t, "wiki/x") }
func TestThroughHelper(t *testing.T) { t.Run("sub", func(t *testing.T) { helper(t, name()) }) }
func TestHere(t *testing.T) { realdata.Path(t, "here") }
func TestNothing(t *testing.T) {}
func Testing(t *testing.T) { realdata.Path(t, "no test") }
func name() string { return "" }
func BenchmarkData(b *testing.B) { realdata.Read(b, "wiki/x") }
`,
	"a/other_test.go": `package a_test
import ("testing"; real "pretext/internal/dev/realdata")
func helper(t *testing.T, name string) { var d data; d.read(t, name) }
type data struct{}
func (data) read(t *testing.T, name string) { real.Path(t, name) }
func TestTool(t *testing.T) { real.Tool(t, "mandoc") }
func TestHours(t *testing.T) { real.Variable(t, "LONG", "hours") }
func TestVectors(t *testing.T) { real.Instructions(t, "AVX-512 VBMI") }
func TestBoth(t *testing.T) { real.Vectors(t, "AVX2"); real.Vectors(t, "AVX-512 VBMI") }
func TestMain(m *testing.M) {}
`,
	"a/testdata/x_test.go": `not Go`,
	"b/b_test.go":          `package b; import "testing"; func TestB(t *testing.T) {}`,
}

func TestTheCensusFindsWhatTestsNeed(t *testing.T) {
	root := t.TempDir()
	for name, text := range fixture {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c, err := takeCensus(root)
	if err != nil {
		t.Fatal(err)
	}
	is := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	got := c.line(finder{data: is("here"), tool: is(), variable: is(), instructions: is("AVX2")})
	want := `not run, or only in part: 6 of 9 tests: 2 need AVX-512 VBMI, 2 need the real data (PRETEXT_DATA), 1 needs LONG, 1 needs mandoc; README.md, "Tests"`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := c.line(finder{data: is("", "here", "wiki/x"), tool: is("mandoc"), variable: is("LONG"), instructions: is("AVX2", "AVX-512 VBMI")}); got != "" {
		t.Errorf("got %q where all is here, want nothing", got)
	}
}

// This module's own tests: the goldens of the real data are seen, and those of
// testdata are not taken for them.
func TestTheCensusOfThisModule(t *testing.T) {
	c, err := takeCensus(moduleRoot())
	if err != nil {
		t.Fatal(err)
	}
	if c.tests < 900 {
		t.Errorf("found %d tests, want over 900", c.tests)
	}
	for test, wanted := range map[string]bool{
		"pipeline.TestTheStageWritesWhatTheScriptWrites":                         true,
		"tokenize.TestEncoderEqualsTheReferenceOnTheCases":                       true,
		"cmd/prepare-data.TestHostileSourcesAreReadOrRefusedInOneLine":           true,
		"tokenize.TestEncoderEqualsTheReferenceOnMadeText":                       false,
		"records/pretrain.TestOptionsTravelAsJSONUnderTheOriginalNames":          false,
		"cmd/prepare-data.TestADownloadThatIsKilledResumesInTheMiddleOfItsFiles": false,
	} {
		if _, got := c.needs[test]; got != wanted {
			t.Errorf("%s: needs something: %v, want %v", test, got, wanted)
		}
	}
	yes, no := func(string) bool { return true }, func(string) bool { return false }
	if line := c.line(finder{data: no, tool: yes, variable: yes, instructions: yes}); !strings.Contains(line, "need the real data") {
		t.Errorf("got %q", line)
	}
	if line := c.line(finder{data: yes, tool: yes, variable: yes, instructions: no}); !strings.Contains(line, "AVX-512") || !strings.Contains(line, "need AVX2") {
		t.Errorf("got %q", line)
	}
}
