// Command gen packs a folder of shards into demo.zip: what its manifest lists,
// and the manifest last. Equal folders give equal bytes.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"pretext/internal/store"
	"pretext/sharding"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen SHARDS")
		os.Exit(2)
	}
	if err := pack(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
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
	return os.WriteFile("demo.zip", buf.Bytes(), 0o666)
}

// names are the files of a manifest, which are sorted.
func names(m *sharding.Manifest) (names []string) {
	for _, f := range m.Files {
		names = append(names, f.Name)
	}
	return names
}
