//go:build ignore

// This program writes testdata/converted.zip: small examples in the formats of other
// libraries, as prepare-data convert writes them. With this file the tests of train-bert
// need not link the pipeline, which would take longer than the tests.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"

	"pretext/internal/dev/tinydata"
	"pretext/pipeline/convert"
	"pretext/pipeline/stage"
	"pretext/records"
)

// conversions lists the source, the format and the result of each conversion, and the
// split, if only one is converted.
var conversions = [][4]string{
	{"packed", "parquet", "packed-parquet"}, {"packed", "parquet", "packed-train", "train"}, {"packed", "mds", "packed-mds", "train"},
	{"tokens", "mds", "tokens-mds", "train"}, {"tokens", "parquet", "tokens-train", "train"}, {"tokens", "parquet", "tokens-parquet"},
	{"pairs", "parquet", "pairs-parquet"}, {"bare", "npy", "bare-npy"},
}

func main() {
	to, err := filepath.Abs("testdata/converted.zip")
	check(err)
	dir, err := os.MkdirTemp("", "converted-")
	check(err)
	defer os.RemoveAll(dir)
	check(os.Chdir(dir)) // paths are relative, so that they are always the same
	for name, form := range map[string]records.Form{"packed": records.Packed, "tokens": records.Tokens, "pairs": ""} {
		check(tinydata.Write(name, tinydata.Options{Train: 64, Eval: 16, Vocab: 40, Form: form}))
	}
	b, err := os.ReadFile("pairs/train-00000-of-00002.tfrecord")
	check(err)
	check(os.Mkdir("bare", 0o777))
	check(os.WriteFile("bare/a.tfrecord", b, 0o666))
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, c := range conversions {
		_, err := convert.Run(context.Background(), stage.Runner{Name: "direct", Workers: 1}, convert.Config{Target: stage.Target{Out: c[2]}, Shards: c[0], Format: c[1], Split: c[3]})
		check(err)
		check(add(z, c[2]))
	}
	check(z.Close())
	check(os.WriteFile(to, out.Bytes(), 0o666))
}

// add adds the files of a folder to the archive, so that the archive is the same in every
// run: without modification times, and without the files in which a run records times.
func add(z *zip.Writer, folder string) error {
	return filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "plan" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), ".") || d.Name() == "run.json" || d.Name() == "plan.json" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		w, err := z.Create(filepath.ToSlash(path))
		if err != nil {
			return err
		}
		_, err = w.Write(b)
		return err
	})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
