package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// date is that of every file: the first that a zip can hold.
var date = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// documents are the files of the repository's root that an archive has. LICENSE
// may be absent: the owner has yet to choose one.
var documents = []string{"README.md", "CHANGELOG.md", "LICENSE"}

// archive returns the archive of a platform: what belongs below /usr/local, in a
// folder with the name of the archive.
func (r *release) archive(p programs) (name string, data []byte, err error) {
	folder := "pretext-" + r.version + "-" + p.os + "-" + p.arch
	var all []file
	for _, f := range p.files {
		all = append(all, file{"bin/" + f.name, f.mode, f.data})
	}
	all = append(all, r.pages...)
	texts, err := r.documents()
	if err != nil {
		return folder, nil, err
	}
	for _, f := range append(texts, file{noticesName, 0o644, r.notices}) {
		all = append(all, file{"share/doc/pretext/" + f.name, f.mode, f.data})
	}
	for i := range all {
		all[i].name = folder + "/" + all[i].name
	}
	if p.os == "windows" {
		data, err = zipped(all)
		return folder + ".zip", data, err
	}
	data, err = tarred(all)
	if err == nil {
		data, err = gzipped(data)
	}
	return folder + ".tar.gz", data, err
}

// documents returns those of documents that exist.
func (r *release) documents() (files []file, err error) {
	for _, name := range documents {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if errors.Is(err, fs.ErrNotExist) && name == "LICENSE" {
			continue
		}
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, data})
	}
	return files, nil
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return strings.Compare(a.name, b.name) })
}

// tarred returns a tar of files, sorted by name. A name that ends in a slash is
// a folder.
func tarred(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range sorted(files) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: date, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

// gzipped returns data in a gzip member without name and date.
func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// zipped returns a zip of files, in their order.
func zipped(files []file) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.DefaultCompression)
	})
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: date}
		h.SetMode(f.mode)
		to, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
