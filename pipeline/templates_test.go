package pipeline

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/counts"
	"pretext/extract/wiki/definitions"
	"pretext/internal/store"
	"pretext/pipeline/stage"
	"pretext/sharding"
)

// ownTemplates is a dump whose page uses the templates in it.
const ownTemplates = `<mediawiki xml:lang="en"><siteinfo><dbname>own</dbname><namespaces><namespace key="10">Template</namespace></namespaces></siteinfo>
<page><title>Rome</title><ns>0</ns><id>1</id><revision><id>2</id><text>From the {{cent|VI}} to the {{CENT|IV}} it was {{nothing}} a {{lost}} city.</text></revision></page>
<page><title>Template:Cent</title><ns>10</ns><id>3</id><revision><id>4</id><text>&lt;includeonly&gt;{{{1}}} century&lt;/includeonly&gt;</text></revision></page>
<page><title>Template:CENT</title><ns>10</ns><id>5</id><redirect title="Template:Cent" /><revision><id>6</id><text>#REDIRECT [[Template:Cent]]</text></revision></page>
<page><title>Template:Nothing</title><ns>10</ns><id>7</id><revision><id>8</id><text>&lt;noinclude&gt;help&lt;/noinclude&gt;</text></revision></page>
</mediawiki>`

// extractOwn extracts a dump and returns the manifest.
func extractOwn(t *testing.T, r stage.Runner, path, out string, change func(*ExtractConfig)) *sharding.Manifest {
	t.Helper()
	c := ExtractConfig{Target: stage.Target{Out: out, Memory: 600e6}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1}, Sources: []Source{{KindWiki, path}}}
	if change != nil {
		change(&c)
	}
	m, err := Extract(t.Context(), r, c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A redirect whose title differs in case only is followed; what a template does not
// include is no hole; and a template that the dump lacks is one.
func TestOwnTemplatesAreExpanded(t *testing.T) {
	dir := t.TempDir()
	plain := writeFile(t, dir, "own.xml", []byte(ownTemplates))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write([]byte(ownTemplates))
	z.Close()
	gz := writeFile(t, dir, "own.xml.gz", packed.Bytes()) // through a spool
	first := map[string]*sharding.Manifest{}
	for k, r := range []stage.Runner{{Workers: 1}, {Workers: 2}} {
		for _, path := range []string{plain, gz} {
			out := filepath.Join(dir, "out", filepath.Base(path), string(rune('a'+k)))
			m := extractOwn(t, r, path, out, func(c *ExtractConfig) { c.Extract.SetLevel(0) })
			text, err := os.ReadFile(filepath.Join(out, "documents-own-00000.jsonl.zst"))
			if err != nil || !bytes.Contains(text, []byte("From the VI century to the IV century it was a city.")) {
				t.Errorf("%s: %q, %v", out, text, err)
			}
			if m.Counts[counts.KeyOf("expanded_templates")] != 3 || m.Dropped.Wikis[0].Holes != 1 {
				t.Errorf("%s: %v, %+v", out, m.Counts, m.Dropped.Wikis)
			}
			if first[path] == nil {
				first[path] = m
			}
			if a, b := first[path].DocumentsFiles(), m.DocumentsFiles(); a[0].SHA256 != b[0].SHA256 {
				t.Errorf("%s: other documents", out)
			}
		}
	}
}

func TestRemovedAndCorruptDefinitions(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "own.xml", []byte(ownTemplates))
	out := filepath.Join(dir, "out")
	want := extractOwn(t, oneWorker, path, out, nil)
	folder := filepath.Join(out, sharding.TemplatesFolder)
	for _, name := range []string{"templates-own.definitions", "templates-own-00000.range"} {
		whole, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		for change, data := range map[string][]byte{"changed": bytes.Replace(whole, []byte("PTDEF"), []byte("PTDEX"), 1), "truncated": whole[:len(whole)-5], "empty": nil} {
			if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
				t.Fatal(err)
			}
			// the next run writes it again
			if m := extractOwn(t, oneWorker, path, out, nil); m.Fingerprint != want.Fingerprint {
				t.Errorf("%s %s: another plan", name, change)
			}
			if now, err := os.ReadFile(filepath.Join(folder, name)); err != nil || !bytes.Equal(now, whole) {
				t.Errorf("%s %s: not written again: %v", name, change, err)
			}
		}
		// a worker that reads it meanwhile says which file it is
		os.WriteFile(filepath.Join(folder, name), whole[:len(whole)-5], 0o666)
		f, err := store.Open(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := openDefinitions(t.Context(), f, name); !errors.Is(err, definitions.ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		extractOwn(t, oneWorker, path, out, nil)
	}
}

// Other definitions are another plan, which does not replace documents unasked.
func TestOtherDefinitionsAreAnotherPlan(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "own.xml", []byte(ownTemplates))
	out := filepath.Join(dir, "out")
	first := extractOwn(t, oneWorker, path, out, nil)
	writeFile(t, dir, "own.xml", []byte(strings.Replace(ownTemplates, "{{{1}}} century", "{{{1}}}th  cent", 1)))
	c := ExtractConfig{Target: stage.Target{Out: out}, Reading: Reading{Extract: DefaultExtractOptions()}, Sources: []Source{{KindWiki, path}}}
	_, err := Extract(t.Context(), oneWorker, c)
	if e := (*stage.OptionsError)(nil); !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
	if m := extractOwn(t, oneWorker, path, out, func(c *ExtractConfig) { c.Overwrite = true }); m.Fingerprint == first.Fingerprint {
		t.Error("the fingerprint is that of other definitions")
	}
}

// Definitions by another version of the stage stay as long as their documents do.
func TestDefinitionsOfAnotherVersionAreKept(t *testing.T) {
	dir := t.TempDir()
	path := writeFile(t, dir, "own.xml", []byte(ownTemplates))
	out := filepath.Join(dir, "out")
	first := extractOwn(t, oneWorker, path, out, nil)
	name := filepath.Join(out, sharding.TemplatesFolder, sharding.PlanName)
	plan, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	now := fmt.Appendf(nil, `"algorithm": %d,`, templatesAlgorithm)
	if !bytes.Contains(plan, now) {
		t.Fatalf("%s", plan)
	}
	old := bytes.Replace(plan, now, []byte(`"algorithm": 1,`), 1)
	if err := os.WriteFile(name, old, 0o666); err != nil {
		t.Fatal(err)
	}
	c := ExtractConfig{Target: stage.Target{Out: out}, Reading: Reading{Extract: DefaultExtractOptions()}, Sources: []Source{{KindWiki, path}}}
	_, err = Extract(t.Context(), oneWorker, c)
	if e := (*stage.OptionsError)(nil); !errors.As(err, &e) || !strings.Contains(err.Error(), "version 1 of their stage") {
		t.Errorf("%v", err)
	}
	if kept, err := os.ReadFile(name); err != nil || !bytes.Equal(kept, old) {
		t.Errorf("the plan of the definitions was replaced: %v", err)
	}
	if m := extractOwn(t, oneWorker, path, out, func(c *ExtractConfig) { c.Overwrite = true }); m.Fingerprint != first.Fingerprint {
		t.Error("another plan")
	}
}
