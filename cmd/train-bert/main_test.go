package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pretext/cmd/internal/clitest"
	"pretext/internal/dev/tinydata"
	"pretext/records"
)

var program = &clitest.Program{Name: "train-bert", Main: func() {
	slowDisk()
	main()
}, Init: start,
	Run: func(args []string) int { return run(context.Background(), args) }}

func TestMain(m *testing.M) { os.Exit(program.RunTests(m)) }

// Every script of testdata/script is a contract of the command line.
func TestScripts(t *testing.T) {
	t.Parallel()
	commands := program.Commands()
	commands["shards"], commands["gzip"], commands["converted"] = shards, compress, converted
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Cmds: commands})
}

// shards DIR TRAIN EVAL [SEED|FORM] writes a folder of small examples with a
// vocabulary of 40 tokens.
func shards(ts *testscript.TestScript, _ bool, args []string) {
	o := tinydata.Options{Train: clitest.Number(ts, args[1]), Eval: clitest.Number(ts, args[2]), Vocab: 40}
	switch {
	case len(args) > 3 && slices.Contains([]records.Form{records.Masked, records.Tokens, records.Packed, records.Pieces}, records.Form(args[3])):
		o.Form = records.Form(args[3])
	case len(args) > 3:
		o.Seed = uint64(clitest.Number(ts, args[3]))
	}
	ts.Check(tinydata.Write(ts.MkAbs(args[0]), o))
}

//go:generate go run testdata/converted.go

// converted unpacks shards in the formats of other libraries.
func converted(ts *testscript.TestScript, _ bool, _ []string) {
	z, err := zip.OpenReader("testdata/converted.zip")
	ts.Check(err)
	defer z.Close()
	ts.Check(os.CopyFS(ts.MkAbs("."), z))
}

// compress FILE compresses a file by gzip.
func compress(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err = w.Write(b)
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(path, out.Bytes(), 0o666))
}
