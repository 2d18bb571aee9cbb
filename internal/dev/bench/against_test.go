package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeProgram returns the path of a program that stands for prepare-data: it writes
// record to OUT/shards/a.tfrecord and prints what prepare-data run --json prints.
func fakeProgram(t *testing.T, record string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "prepare-data")
	text := `#!/bin/sh
while [ "$1" != --out ]; do shift; done
mkdir -p "$2/shards"
printf '` + record + `' > "$2/shards/a.tfrecord"
echo '{"seconds":'$(date +%s)',"tasks":{"count":3,"seconds":0.25,"longest_seconds":0.125,"cpu_seconds":0.001,"longest_cpu_seconds":0.0005}}' > "$2/shards/run.json"
echo "$*" > "$2/shards/plan.json"
i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done # some CPU time
echo '{"stages":[{"stage":"examples","bytes":6,"counts":{"records":2},"cpu_seconds":0.5}]}'
`
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTwoProgramsWithEqualRecordsAreCompared(t *testing.T) {
	o := options{against: fakeProgram(t, "record"), binary: fakeProgram(t, "record"), rounds: 2, nowFlags: []string{"--fast"}}
	c, err := compare(context.Background(), o, t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := "records are equal; 1 of 2 files differ: shards/plan.json"; c.Same != want {
		t.Errorf("got %q, want %q", c.Same, want)
	}
	var text bytes.Buffer
	if err := c.write(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 rounds in turns", "\nwhole run ", "\nexamples ", "0.50 (0.50–0.50)", ": 2 records, ", "flags: --shards 8 --fast\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in:\n%s", want, text.String())
		}
	}
}

func TestAFasterProgramWithOtherRecordsIsAnError(t *testing.T) {
	o := options{against: fakeProgram(t, "record"), binary: fakeProgram(t, "recorD"), rounds: 1}
	c, err := compare(context.Background(), o, t.TempDir(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.err(); err == nil || err.Error() != differentRecords+": 1 of 2 files differ: shards/a.tfrecord" {
		t.Errorf("got error %v", err)
	}
	o.binary = o.against
	if c, err := compare(context.Background(), o, t.TempDir(), io.Discard); err != nil || c.err() != nil || c.Same != "all of 2 files are equal" {
		t.Errorf("got %v, %v", c, err)
	}
}
