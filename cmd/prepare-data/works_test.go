//go:build unix

package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/torture"
	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/sharding"
)

// A work is a command that kills and full disks interrupt. Its last argument, the
// output directory, is missing.
type work struct {
	name string
	args []string
}

// workRecipes are the recipes of [works], with their flags; small rows, for several
// of them in a shard.
var workRecipes = []struct {
	form  records.Form
	name  string
	flags []string
}{
	{records.Pairs, "length bins", []string{"--set=length-bins=32,64,128", "--dupe-factor=3"}},
	{records.Masked, "mlm", []string{"--recipe=mlm", "--dupe-factor=3"}},
	{records.Tokens, "tokens", []string{"--recipe=tokens"}},
	{records.Sentences, "sentences", []string{"--recipe=sentences"}},
	{records.Pieces, "pieces", []string{"--recipe=pieces", "--max-seq-length=256"}},
	{records.Packed, "packed", []string{"--recipe=packed", "--max-seq-length=256"}},
}

// widelyRead are the formats that have works for all forms of examples; the others
// have works for pairs and tokens, since they write all forms by the same code.
var widelyRead = []string{"mds", "parquet"}

var workShards struct {
	sync.Once
	dir string
}

// works returns the stages that write examples: each recipe, the conversion of each
// form of examples to each format, and both in one command. All of them share their
// engine and their files' code, so a plain go test takes one command a form, which
// writes all formats, and a whole run with templates, unless PRETEXT_WORKS is set, as it is by make faults.
func works(t *testing.T) (list []work) {
	t.Helper()
	c := demoSources(t)
	examples := func(flags ...string) []string {
		documents, vocab := filepath.Join(c.undisturbed, "documents"), filepath.Join(c.undisturbed, "vocab", sharding.VocabName)
		return slices.Concat([]string{"examples", documents, "--vocab", vocab, "--shards=3", "--eval-fraction=0.2", "--workers=2", "--quiet"}, flags)
	}
	all := torture.Times(t, "PRETEXT_WORKS", 0, 1) > 0
	shards := map[records.Form]string{records.Pairs: filepath.Join(c.undisturbed, "shards")}
	workShards.Do(func() {
		if !all {
			return
		}
		workShards.dir = filepath.Join(sharedDir, "recipes")
		for _, r := range workRecipes[1:] {
			prepareData(t, append(examples(r.flags...), "--out", filepath.Join(workShards.dir, r.name))...).succeed(t)
		}
	})
	for _, r := range workRecipes {
		list = append(list, work{"examples: " + r.name, examples(r.flags...)})
		if r.form != records.Pairs {
			shards[r.form] = filepath.Join(workShards.dir, r.name)
		}
	}
	together := map[records.Form][]string{records.Pairs: {"--dupe-factor=1"}, records.Tokens: {"--recipe=tokens"}}
	for _, form := range []records.Form{records.Pairs, records.Masked, records.Tokens, records.Packed} {
		for _, format := range formats.Names() {
			f, _ := formats.Get(format)
			flags, every := together[form]
			if !columns.Holds(f, form) || !every && !slices.Contains(widelyRead, format) {
				continue
			}
			list = append(list, work{string(form) + " to " + format, []string{"convert", shards[form], "--to", format, "--workers=2", "--quiet"}})
			if every {
				together[form] = append(flags, "--format", format)
			}
		}
	}
	templates := templateDump(t)
	if all {
		list = append(list, work{"extract with templates", []string{"extract", "--wiki-dump", templates, "--workers=2", "--quiet"}})
	} else {
		list = nil
	}
	return append(list, work{"pairs in all formats", examples(together[records.Pairs]...)}, work{"tokens in all formats", examples(together[records.Tokens]...)},
		work{"run with templates and formats", []string{"run", "--wiki-dump", templates, "--vocab-size=300", "--shards=2", "--dupe-factor=1", "--eval-fraction=0.1",
			"--format=mds", "--format=parquet", "--workers=2", "--quiet"}})
}

// templateDump returns a compressed dump whose pages use the templates in it. It is
// written once: tests that run side by side read the same file.
func templateDump(t *testing.T) string {
	t.Helper()
	demoSources(t) // makes sharedDir
	path, err := writtenTemplateDump()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var writtenTemplateDump = sync.OnceValues(func() (string, error) {
	path := filepath.Join(sharedDir, "own.xml.gz")
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	z := gzip.NewWriter(f)
	z.Write([]byte(`<mediawiki xml:lang="en"><siteinfo><dbname>own</dbname><namespaces><namespace key="10">Template</namespace></namespaces></siteinfo>`))
	for k := range 3000 {
		fmt.Fprintf(z, "<page><title>Template:T%d</title><ns>10</ns><id>%d</id><revision><id>1</id><text>word %d of {{{1}}}%s</text></revision></page>\n", k, 2*k+1, k, strings.Repeat(" x", k%40))
		fmt.Fprintf(z, "<page><title>Page %d</title><ns>0</ns><id>%d</id><revision><id>1</id><text>A sentence with {{t%d|a}} and {{T%d|b}} in it.\n\nThe second one has {{t%d|c}}.\n\nA third one ends the page.\n\nNo, this one does.</text></revision></page>\n", k, 2*k+2, k, k*7%3000, k*11%3000)
	}
	z.Write([]byte("</mediawiki>"))
	return path, errors.Join(z.Close(), f.Close()) // the compressor keeps the first error of its writer
})

// process returns a process of the work that is not started yet.
func (w work) process(t *testing.T, out string) *process {
	t.Helper()
	return prepareData(t, append(slices.Clone(w.args), "--out", out)...)
}

// finish runs the work to its end, wants the given files and removes them.
func (w work) finish(t *testing.T, out string, want tree, after string) {
	t.Helper()
	w.process(t, out).succeed(t)
	noTemporary(t, after, out)
	if diff := cmp.Diff(want, readTree(t, out)); diff != "" {
		t.Errorf("%s: other files than of an undisturbed run (-want +got):\n%s", after, diff)
	}
	os.RemoveAll(out)
}

var wholeWorks sync.Map // name of a work to its *wholeWork

// A wholeWork is what a work writes when nothing disturbs it.
type wholeWork struct {
	sync.Once
	tree         tree
	all, largest int64 // bytes: of the files together, of the largest file
}

// whole runs the work once for all tests.
func (w work) whole(t *testing.T) *wholeWork {
	t.Helper()
	v, _ := wholeWorks.LoadOrStore(w.name, &wholeWork{})
	whole := v.(*wholeWork)
	whole.Do(func() {
		out := t.TempDir()
		w.process(t, out).succeed(t)
		whole.tree = readTree(t, out)
		for name := range whole.tree {
			if info, err := os.Stat(filepath.Join(out, name)); err == nil {
				whole.all += info.Size()
				whole.largest = max(whole.largest, info.Size())
			}
		}
		os.RemoveAll(out)
	})
	if whole.tree == nil {
		t.Fatal("the undisturbed run failed in another test")
	}
	return whole
}
