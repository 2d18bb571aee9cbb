package verify_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/verify"
)

func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // thousands of verifications: collecting garbage took half of their time
	}
	stage.Init(os.Args[1:])
	os.Exit(m.Run())
}

// dump returns a small wiki as plain XML.
func dump(pages int) []byte {
	var b strings.Builder
	b.WriteString(`<mediawiki xml:lang="en"><siteinfo><sitename>T</sitename><dbname>testwiki</dbname><namespaces><namespace key="0" /><namespace key="1">Talk</namespace></namespaces></siteinfo>` + "\n")
	for i := range pages {
		fmt.Fprintf(&b, "<page><title>Page %d</title><ns>%d</ns><id>%d</id><revision><id>1</id><text>", i, i%7/6, i+1)
		for j := range 5 + i%9 {
			fmt.Fprintf(&b, "The '''river''' number %d of [[valley|valleys]] %d runs to the sea. It carries %d boats, Mr. Smith said.\n\n", j, i, i*j)
		}
		b.WriteString("</text></revision></page>\n")
	}
	b.WriteString("</mediawiki>\n")
	return []byte(b.String())
}

// writeFile makes a file in a folder of the test.
func writeFile(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

var testRunner = stage.Runner{Name: "direct", Workers: 2}

// smallRun makes a run that is verified within a few milliseconds. It is in memory if
// the machine has /dev/shm.
func smallRun(t *testing.T, change func(*pipeline.RunConfig)) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "pretext-test-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := pipeline.RunConfig{Target: stage.Target{Out: filepath.Join(dir, "run"), Memory: 600e6}, Reading: pipeline.Reading{Extract: pipeline.DefaultExtractOptions(), MaxRejects: 1}, VocabSize: 200, Examples: sharding.DefaultExamplesOptions(), Sources: []pipeline.Source{{Kind: pipeline.KindWiki, Path: writeFile(t, t.TempDir(), "w.xml", dump(12))}}}
	c.Examples.MaxSeqLength, c.Examples.DupeFactor, c.Examples.Shards = 32, 1, 1
	if change != nil {
		change(&c)
	}
	if _, err := pipeline.Run(context.Background(), testRunner, c); err != nil {
		t.Fatal(err)
	}
	if v := check(t, c.Out); !v.OK() {
		t.Fatal(v.Problems)
	}
	return c.Out
}

func check(t *testing.T, path string) *verify.Result {
	t.Helper()
	v, err := verify.Dataset(context.Background(), path, verify.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Definitions of templates are those by which the documents beside them were made.
func TestDefinitionsOfOtherDocuments(t *testing.T) {
	extract := func(definition string) string {
		xml := strings.Replace(string(dump(12)), "</mediawiki>", "<page><title>Template:Own</title><ns>10</ns><id>99</id><revision><id>1</id><text>"+definition+"</text></revision></page></mediawiki>", 1)
		return smallRun(t, func(c *pipeline.RunConfig) {
			c.Sources[0].Path = writeFile(t, t.TempDir(), "w.xml", []byte(strings.Replace(xml, `key="1">Talk`, `key="10">Template`, 1)))
		})
	}
	one, other := extract("a text"), extract("another text")
	templates := func(out string) string { return filepath.Join(out, sharding.DocumentsFolder, sharding.TemplatesFolder) }
	if err := os.RemoveAll(templates(one)); err != nil {
		t.Fatal(err)
	}
	if v := check(t, one); !v.OK() {
		t.Errorf("without definitions: %v", v.Problems)
	}
	if err := os.Rename(templates(other), templates(one)); err != nil {
		t.Fatal(err)
	}
	if v := check(t, one); v.OK() || !strings.Contains(v.Problems[0].Reason, "other definitions") {
		t.Errorf("definitions of another dump: %v", v.Problems)
	}
}
