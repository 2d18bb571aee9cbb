// Command gen writes demo.zip in the folder of package demoshards. "go generate" runs it.
// It generates the stories of village.go, runs prepare-data to make shards of them, and
// packs the files that their manifest lists, the manifest last. Its output is always the
// same, byte for byte.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"pretext/internal/store"
	"pretext/sharding"
)

// stories is the number of stories. A tenth of them become the eval split.
const stories = 1500

// archive is the name of the file to write.
const archive = "demo.zip"

// settings are the options of prepare-data. Short examples and a small vocabulary
// let a model learn early (docs/learning.md); one pass over stories that are
// all different is enough.
var settings = []string{"--vocab-size", "1000", "--max-seq-length", "32", "--max-predictions-per-seq", "5", "--dupe-factor", "1",
	"--eval-fraction", "0.1", "--shards", "2", "--quiet"}

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func generate() (err error) {
	dir, err := os.MkdirTemp("", "demoshards")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	books, out := filepath.Join(dir, "stories"), filepath.Join(dir, "run")
	if err := write(books); err != nil {
		return err
	}
	command := exec.Command("go", append([]string{"run", "pretext/cmd/prepare-data", "run", "--books", books, "--out", out}, settings...)...)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("prepare-data: %w", err)
	}
	return pack(filepath.Join(out, "shards"))
}

// write writes a text file for every story, one sentence on each line.
func write(dir string) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	for i := range stories {
		text := strings.Join(tell(rand.New(rand.NewPCG(uint64(i), 1))), "\n") + "\n"
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("story-%04d.txt", i)), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

func pack(dir string) error {
	folder, err := store.Open(dir)
	if err != nil {
		return err
	}
	m, err := sharding.ReadManifest(context.Background(), folder)
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	for _, name := range append(names(m), sharding.ManifestName) {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err != nil {
			return err
		}
		if _, err := f.Write(b); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(archive, buf.Bytes(), 0o666)
}

// names returns the names of the files in a manifest, sorted.
func names(m *sharding.Manifest) (names []string) {
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	return names
}
