package pipeline_test

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"pretext/extract"
	"pretext/internal/democorpus"
	"pretext/pipeline"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/sharding/verify"
)

// The program of docs/library.md: the body is that of its main.
func ExampleRun() {
	dump, out, done := demoDump()
	defer done()

	config := pipeline.DefaultRunConfig(out)
	config.Sources = []pipeline.Source{{Kind: pipeline.KindWiki, Path: dump}}
	config.VocabSize, config.Examples.Shards, config.Examples.Fraction = 2000, 4, 0.1
	runner := stage.Runner{Workers: runtime.NumCPU(), Watch: progress}
	stages, err := pipeline.Run(context.Background(), runner, config)
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range stages {
		fmt.Println(s.Stage, extract.Documents.Of(s.Counts), sharding.Records.Of(s.Counts))
	}
	// Output:
	// extract 87 0
	// vocab 80 0
	// examples 87 8127
}

// progress logs how far a stage is, once a second.
func progress(m *stage.Meter) (stop func()) {
	tick, done := time.NewTicker(time.Second), make(chan struct{})
	go func() {
		for {
			select {
			case <-tick.C:
				log.Printf("%s: %d of %d %s", m.Stage, m.Done(), m.Total, cmp.Or(m.Unit, "bytes"))
			case <-done:
				return
			}
		}
	}()
	return func() { tick.Stop(); close(done) }
}

// demoDump writes the demo's dump to a directory of its own.
func demoDump() (dump, out string, done func()) {
	dir, err := os.MkdirTemp("", "library")
	if err != nil {
		panic(err)
	}
	dump = filepath.Join(dir, democorpus.DumpName)
	if err := os.WriteFile(dump, democorpus.Dump(), 0o666); err != nil {
		panic(err)
	}
	return dump, filepath.Join(dir, "data"), func() { os.RemoveAll(dir) }
}

// What docs/library.md shows is what ExampleRun runs.
func TestThePageShowsTheExample(t *testing.T) {
	page, err := os.ReadFile("../docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "pipeline.DefaultRunConfig")
	program, _, ok := strings.Cut(program, "```")
	checked := 0
	for line := range strings.Lines(program) {
		if line = strings.TrimSpace(line); len(line) > 1 {
			checked++
			if !strings.Contains(string(own), line) {
				t.Errorf("the page's line is not in the example: %s", line)
			}
		}
	}
	if checked < 15 || !ok {
		t.Errorf("%d lines of the page's program were found, want at least 15", checked)
	}
}

// The demo's run is the shortest way from sources to shards.
func ExampleDemo() {
	out, err := os.MkdirTemp("", "demo")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(out)
	runner := stage.Runner{Name: "direct", Workers: 2}
	stages, err := pipeline.Demo(context.Background(), runner, pipeline.DemoConfig(out))
	if err != nil {
		panic(err)
	}
	for _, s := range stages {
		fmt.Println(s.Stage, filepath.Base(s.Folder), extract.Documents.Of(s.Counts) > 0)
	}
	v, err := verify.Dataset(context.Background(), out, verify.Options{})
	fmt.Println(v.OK(), err)
	// Output:
	// extract documents true
	// vocab vocab true
	// examples shards true
	// true <nil>
}
