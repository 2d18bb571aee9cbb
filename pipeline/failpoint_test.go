package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pretext/extract/download"
	"pretext/internal/dev/torture"
	"pretext/internal/store"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// errFault is what an injected fault returns.
var errFault = errors.New("injected fault")

// A faultKind is what happens at a point.
type faultKind string

const (
	faultError faultKind = "error" // the step fails
	faultPanic faultKind = "panic" // the code around it panics
	// The machine stops: from this step on nothing reaches the disk any more,
	// not even the removal of temporary files.
	faultCrash faultKind = "crash"
)

// A point is one operation of a stage's work on a file. The number of writes to
// a file may vary, so a point is identified by the kind of operation and the
// file.
type point struct {
	step store.Step
	path string // below the stage's folder
	nth  int    // time that the step is done to this path
}

func (p point) String() string { return fmt.Sprintf("%s of %s (%d)", p.step, p.path, p.nth) }

// reads reports whether the operation changes nothing.
func (p point) reads() bool {
	switch p.step {
	case store.StepStat, store.StepOpen, store.StepRead, store.StepList:
		return true
	}
	return false
}

// A counter tells the points of work in a folder from each other.
type counter struct {
	mu   sync.Mutex
	out  string
	seen map[point]int
}

func newCounter(out string) *counter { return &counter{out: out, seen: map[point]int{}} }

func (c *counter) next(step store.Step, path string) point {
	p := point{step: step, path: strings.TrimPrefix(path, c.out)}
	if path == filepath.Dir(c.out) {
		p.path = ".."
	}
	c.seen[p]++
	p.nth = c.seen[p]
	return p
}

// record calls do and returns the points of its work in a folder.
func record(t *testing.T, out string, do func() error) (points []point) {
	t.Helper()
	c := newCounter(out)
	restore := store.Intercept(func(step store.Step, path string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		points = append(points, c.next(step, path))
		return nil
	})
	defer restore()
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return points
}

// fault calls do in a folder and injects a fault at a point. It reports whether
// the point was reached, and returns the error of the work; a panic that
// reaches the caller is an error too.
func fault(kind faultKind, at point, out string, do func() error) (met bool, err error) {
	c := newCounter(out)
	restore := store.Intercept(func(step store.Step, path string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch p := c.next(step, path); {
		case p == at:
			met = true
			if kind == faultPanic {
				panic(errFault)
			}
			return errFault
		case met && kind == faultCrash:
			return errFault
		}
		return nil
	})
	defer restore()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	err = do()
	return met, err
}

// A faultRow is work of which every operation is made to fail; a new stage
// needs a new row. Directories of earlier stages come from an undisturbed run,
// base.
type faultRow struct {
	name string
	// before puts into the folder what is there before the work; it may be nil.
	before func(t *testing.T, base, out string)
	do     func(base, out string) error
}

// oneWorker makes the order of operations equal to the order of tasks.
var oneWorker = stage.Runner{Name: "direct", Workers: 1}

// faultConfig is a run that is as small as one can be that has every kind of
// file: a book, and few pages, both sides of a split.
func faultConfig(t *testing.T, out string) RunConfig {
	t.Helper()
	c := config(t, out)
	dir := t.TempDir()
	c.VocabSize, c.Examples.Shards, c.Examples.DupeFactor = 100, 1, 1
	c.Sources = []Source{
		{KindWiki, writeFile(t, dir, "test.xml", dump(25))},
		{KindBooks, writeFile(t, dir, "book.txt", []byte(strings.Repeat("A short book has a few words. It ends soon.\n\n", 3)))},
	}
	return c
}

func faultRows(t *testing.T, c RunConfig) []faultRow {
	ctx := context.Background()
	extract := func(out string, overwrite bool) error {
		_, err := Extract(ctx, oneWorker, ExtractConfig{Target: stage.Target{Out: out, Overwrite: overwrite}, Reading: Reading{Extract: c.Extract, MaxRejects: 1}, Sources: c.Sources})
		return err
	}
	vocab := func(base, out, given string) error {
		o := DefaultVocabOptions()
		o.VocabSize, o.Split = c.VocabSize, c.Examples.Split
		_, err := Vocab(ctx, oneWorker, VocabConfig{Target: stage.Target{Out: out}, TokenFile: TokenFile{Vocab: given}, Documents: []string{filepath.Join(base, sharding.DocumentsFolder)}, Training: o})
		return err
	}
	examples := ExamplesConfig{Target: stage.Target{Memory: c.Memory}, Reading: Reading{Extract: c.Extract}, Examples: c.Examples}
	mirror, sum := bookServer(t)
	fetch := func(out string, q download.Request) error { // one file, since several are fetched at once
		o := download.DefaultOptions()
		o.Contact, o.AllowPrivate, o.BookPause, o.Attempts, o.Backoff = "tests@example.org", true, 0, 3, 0
		o.Mirrors = []download.Mirror{{Site: download.SiteGutenberg, Base: mirror}}
		_, err := Download(ctx, oneWorker, DownloadConfig{Target: stage.Target{Out: out}, Requests: []download.Request{q}, Client: o})
		return err
	}
	to := func(format, shards string) func(base, out string) error {
		return func(base, out string) error {
			_, err := convert.Run(ctx, oneWorker, convert.Config{Target: stage.Target{Out: out}, Shards: filepath.Join(base, shards), Format: format, Split: sharding.Train})
			return err
		}
	}
	own := writeFile(t, t.TempDir(), "own.xml", []byte(ownTemplates))
	rows := []faultRow{
		{name: "download", do: func(_, out string) error {
			return fetch(out, download.Request{Kind: download.Gutenberg, IDs: []int{7}})
		}},
		{name: "download with a checksum", do: func(_, out string) error {
			return fetch(out, download.Request{Kind: download.URL, URL: mirror + "/checked.txt", SHA256: sum})
		}},
		{name: "extract", do: func(_, out string) error { return extract(out, false) }},
		{name: "extract over what a killed run left", before: leftovers, do: func(_, out string) error { return extract(out, false) }},
		{name: "extract over the output of other options", before: otherOutput, do: func(_, out string) error { return extract(out, true) }},
		{name: "extract with templates", do: func(_, out string) error {
			_, err := Extract(ctx, oneWorker, ExtractConfig{Target: stage.Target{Out: out}, Reading: Reading{Extract: c.Extract, MaxRejects: 1}, Sources: []Source{{KindWiki, own}}})
			return err
		}},
		{name: "filter", do: func(base, out string) error {
			c := withRules(filterConfig(filepath.Join(base, sharding.DocumentsFolder), out))
			c.Filter.Nearly.Containment = 0.9
			_, err := Filter(ctx, oneWorker, c)
			return err
		}},
		{name: "filter of repeated lines", do: func(base, out string) error {
			c := filterConfig(filepath.Join(base, sharding.DocumentsFolder), out)
			c.Filter.LineDocuments = 1
			_, err := Filter(ctx, oneWorker, c)
			return err
		}},
		{name: "vocab", do: func(base, out string) error { return vocab(base, out, "") }},
		{name: "vocab given", do: func(base, out string) error {
			return vocab(base, out, filepath.Join(base, VocabFolder, sharding.VocabName))
		}},
		{name: "examples", do: func(base, out string) error {
			c := examples
			c.Documents, c.Vocab, c.Out = []string{filepath.Join(base, sharding.DocumentsFolder)}, filepath.Join(base, VocabFolder, sharding.VocabName), out
			tokens, err := c.read(&c.Examples)
			if err != nil {
				return err
			}
			d, err := c.plan(ctx, c.Documents, tokens, oneWorker)
			if err != nil {
				return err
			}
			work := d.Work.(examplesWork)
			work.Scratch = 0 // all examples through a scratch file
			d.Work = work
			_, err = stage.Run(ctx, oneWorker, d)
			return err
		}},
		{name: "examples of a mix", do: func(base, out string) error {
			c := examples
			c.Documents, c.Vocab, c.Out = []string{filepath.Join(base, sharding.DocumentsFolder)}, filepath.Join(base, VocabFolder, sharding.VocabName), out
			c.Examples.Mix = &sharding.Mix{Epochs: map[string]float64{"test": 1.5}}
			_, err := Examples(ctx, oneWorker, c)
			return err
		}},
		{name: "examples of text", do: func(base, out string) error {
			c := examples
			c.Examples.SentenceSplitter = "newline"
			c.Texts, c.Vocab, c.Out = []string{filepath.Join(base, "text.txt")}, filepath.Join(base, VocabFolder, sharding.VocabName), out
			_, err := Examples(ctx, oneWorker, c)
			return err
		}},
	}
	recipe := func(name string, bins ...int) faultRow {
		return faultRow{name: strings.TrimSuffix(fmt.Sprintf("examples of recipe %s %v", name, bins), " []"), do: func(base, out string) error {
			c := examples
			c.Documents, c.Vocab, c.Out = []string{filepath.Join(base, sharding.DocumentsFolder)}, filepath.Join(base, VocabFolder, sharding.VocabName), out
			c.Examples.Recipe, c.Examples.Options = name, sharding.RecipeOptions(name).Options
			if name != "packed" && name != "tokens" && name != "pieces" {
				c.Examples.MaxSeqLength, c.Examples.DupeFactor, c.Examples.LengthBins = 64, 1, bins
			}
			_, err := Examples(ctx, oneWorker, c)
			return err
		}}
	}
	rows = append(rows, recipe("mlm"), recipe("tokens"), recipe("packed"), recipe("pieces"), recipe("google", 32, 64))
	for _, format := range formats.Names() {
		f, _ := formats.Get(format)
		if columns.Holds(f, records.Pairs) {
			rows = append(rows, faultRow{name: "convert to " + format, do: to(format, sharding.ShardsFolder)})
		}
		if columns.Holds(f, records.Tokens) {
			rows = append(rows, faultRow{name: "convert documents to " + format, do: to(format, "tokens")})
		}
	}
	return rows
}

// bookServer serves a book, from any byte on, and returns its address and the
// book's checksum.
func bookServer(t *testing.T) (address, sum string) {
	text := strings.Repeat("A line of a book that is not long.\n", 3000)
	book := strings.NewReader(text)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "7.txt", time.Time{}, io.NewSectionReader(book, 0, book.Size()))
	}))
	t.Cleanup(server.Close)
	return server.URL, sharding.Hash([]byte(text))
}

// leftovers are the files that killed runs leave, and a foreign file that must
// stay.
func leftovers(t *testing.T, _, out string) {
	for _, name := range []string{".tmp-1", "plan/.tmp-2", "plan/00000.json", "plan/tasks.bin", ".tmp-folder-3/beam/x", store.LockName} {
		writeFile(t, out, name, []byte("left"))
	}
}

// otherOutput copies a finished folder that was made with other options.
func otherOutput(t *testing.T, base, out string) {
	if err := os.CopyFS(out, os.DirFS(filepath.Join(base, "other"))); err != nil {
		t.Fatal(err)
	}
}

var number = regexp.MustCompile(`[0-9]+`)

// ignored are the operations whose failure is not reported: the next run
// removes what they leave.
var ignored = []store.Step{store.StepOwner, store.StepDiscard, store.StepUnlock}

// makeFaultBase makes the directories that the rows start from.
func makeFaultBase(t *testing.T, base string, c RunConfig) {
	t.Helper()
	run(t, oneWorker, c)
	writeFile(t, base, "text.txt", []byte(strings.Repeat("the river runs to the sea .\nit carries boats .\n\n", 5)))
	tokens := ExamplesConfig{Target: stage.Target{Out: filepath.Join(base, "tokens"), Memory: c.Memory}, TokenFile: TokenFile{Vocab: filepath.Join(base, VocabFolder, sharding.VocabName)},
		Reading: Reading{Extract: c.Extract}, Examples: c.Examples, Documents: []string{filepath.Join(base, sharding.DocumentsFolder)}}
	shards := tokens.Examples.Shards
	tokens.Examples = sharding.RecipeOptions("tokens")
	tokens.Examples.Shards, tokens.Examples.Split = shards, c.Examples.Split
	if _, err := Examples(t.Context(), oneWorker, tokens); err != nil {
		t.Fatal(err)
	}
	other := c.Extract
	other.Wiki.MinCharacters = 300
	if _, err := Extract(t.Context(), oneWorker, ExtractConfig{Target: stage.Target{Out: filepath.Join(base, "other")}, Reading: Reading{Extract: other, MaxRejects: 1}, Sources: c.Sources}); err != nil {
		t.Fatal(err)
	}
}

func TestWhereverAStageFailsTheNextRunEndsAsIfItHadNot(t *testing.T) {
	base := t.TempDir()
	c := faultConfig(t, base)
	makeFaultBase(t, base, c)
	seen := map[point]bool{}
	for _, row := range faultRows(t, c) {
		t.Run(row.name, func(t *testing.T) { row.everyPoint(t, base, seen) })
	}
}

// everyPoint makes every step of the row's work fail in every way. A plain run takes
// the steps that change something and that no row before had, since they are met in
// the same code, and of files whose names differ in numbers one: with every error, an
// eighth of the panics, which the seed draws, and one crash for each kind of step.
func (row faultRow) everyPoint(t *testing.T, base string, seen map[point]bool) {
	fresh := func(name string) string {
		out := filepath.Join(fastDir(t), name)
		if row.before != nil {
			row.before(t, base, out)
		}
		return out
	}
	out := fresh("undisturbed")
	points := record(t, out, func() error { return row.do(base, out) })
	want := tree(t, out)
	random := torture.Random(t)
	made, panicked, crashed := 0, map[store.Step]bool{}, map[store.Step]bool{}
	for _, at := range points {
		if class := (point{step: at.step, path: number.ReplaceAllString(at.path, "#")}); !torture.Long() && (seen[class] || at.reads()) {
			continue
		} else {
			seen[class] = true
		}
		for _, kind := range []faultKind{faultError, faultPanic, faultCrash} {
			if kind == faultPanic && at.step == store.StepOwner {
				continue // between taking the lock and having it there is no code of ours but this
			}
			if kind == faultCrash && crashed[at.step] && !torture.Long() {
				continue // what is cut off here is cut off by a fault of the next step too
			}
			if kind == faultPanic && panicked[at.step] && !torture.Long() && random.IntN(8) > 0 {
				continue // each kind of step, and an eighth of the others
			}
			crashed[at.step] = crashed[at.step] || kind == faultCrash
			panicked[at.step] = panicked[at.step] || kind == faultPanic
			out := fresh("disturbed")
			met, err := fault(kind, at, out, func() error { return row.do(base, out) })
			where := fmt.Sprintf("%s at %s", kind, at)
			if met {
				made++
				row.afterFault(t, where, kind, at, err, out)
			} else if at.nth == 1 {
				t.Errorf("%s: never met", where)
			}
			if err != nil || slices.Contains(ignored, at.step) { // otherwise the folder must be right already
				err = row.do(base, out)
			}
			if err != nil {
				t.Errorf("%s: the next run: %v", where, err)
			} else if diff := cmp.Diff(want, tree(t, out)); diff != "" {
				t.Errorf("%s: other files than of an undisturbed run (-want +got):\n%s", where, diff)
			}
			os.RemoveAll(out)
		}
	}
	t.Logf("%d points, %d faults", len(points), made)
}

// fastDir returns a folder of the test's own, in memory where there is such a
// place: hundreds of runs sync every file.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pretext-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// afterFault checks the error of a disturbed run and the files that it left.
func (row faultRow) afterFault(t *testing.T, where string, kind faultKind, at point, err error, out string) {
	t.Helper()
	switch {
	case err == nil && !slices.Contains(ignored, at.step) && !at.reads():
		t.Errorf("%s: the run succeeded", where)
	case err != nil && kind != faultPanic && !errors.Is(err, errFault):
		t.Errorf("%s: got the error %v, want one that wraps the cause", where, err)
	case err != nil && at.step != store.StepRemove && strings.Contains(err.Error(), store.TempPrefix):
		t.Errorf("%s: the error %q has a temporary name", where, err)
	}
	if kind != faultCrash && at.step != store.StepDiscard && row.before == nil {
		noTemporary(t, where, out)
	}
	manifestHolds(t, where, out)
}

// noTemporary checks that there is no temporary file or folder below a folder.
func noTemporary(t *testing.T, after, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), store.TempPrefix) {
			t.Errorf("%s: %s was left", after, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// manifestHolds checks that a folder has no manifest, or all files that its
// manifest lists.
func manifestHolds(t *testing.T, after, out string) {
	t.Helper()
	folder, err := store.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	m, err := sharding.ReadManifest(t.Context(), folder)
	if errors.Is(err, sharding.ErrUnfinished) {
		return
	}
	if err != nil {
		t.Errorf("%s: the manifest cannot be read: %v", after, err)
		return
	}
	for _, e := range m.Files {
		if problem, err := e.Check(t.Context(), folder); err != nil || problem != nil {
			t.Errorf("%s: there is a manifest, but %v %v", after, problem, err)
		}
	}
}
