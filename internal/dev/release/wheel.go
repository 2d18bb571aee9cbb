package main

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// distribution is the name of the wheel, and of what pip installs. Another project
// has this name on PyPI: who publishes the wheel there chooses another one.
const distribution = "pretext"

// pythonVersion is the oldest Python that the package runs with.
const pythonVersion = ">=3.9"

// wheel returns the wheel of a platform (Python's specification "binary
// distribution format"): the package, the programs as scripts, and the pages where
// programs look for them. No Python is needed to write it.
func (r *release) wheel(p programs) (name string, data []byte, err error) {
	stem := distribution + "-" + r.version
	info := stem + ".dist-info/"
	all, err := r.pythonPackage()
	if err != nil {
		return stem, nil, err
	}
	for _, f := range p.files {
		all = append(all, file{stem + ".data/scripts/" + f.name, f.mode, f.data})
	}
	for _, f := range r.pages {
		all = append(all, file{stem + ".data/data/" + f.name, f.mode, f.data})
	}
	all = append(all, file{stem + ".data/data/share/doc/pretext/" + noticesName, 0o644, r.notices})
	about, err := r.metadata()
	if err != nil {
		return stem, nil, err
	}
	tags := "py3-none-" + p.wheel
	all = append(sorted(all), about...)
	for i := range about {
		all[len(all)-len(about)+i].name = info + about[i].name
	}
	all = append(all, file{info + "WHEEL", 0o644, wheelFile(p.wheel)})
	data, err = zipped(append(all, file{info + "RECORD", 0o644, record(all, info)}))
	return stem + "-" + tags + ".whl", data, err
}

// pythonPackage returns the files of python/pretext.
func (r *release) pythonPackage() (files []file, err error) {
	root := filepath.Join(r.source, "python")
	err = fs.WalkDir(os.DirFS(root), distribution, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".py", ".typed"}, path.Ext(name)) {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		files = append(files, file{name, 0o644, data})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no files", root)
	}
	return files, err
}

// metadata returns METADATA and the licence, if there is one.
func (r *release) metadata() (files []file, err error) {
	page, err := os.ReadFile(filepath.Join(r.source, "python", "README.md"))
	if err != nil {
		return nil, err
	}
	lines := []string{
		"Metadata-Version: 2.1",
		"Name: " + distribution,
		"Version: " + r.version,
		"Summary: BERT pre-training data from raw dumps, and a reader of its shards for PyTorch",
		"Requires-Python: " + pythonVersion,
		"Provides-Extra: torch",
		`Requires-Dist: torch; extra == "torch"`,
		`Requires-Dist: numpy; extra == "torch"`,
		"Description-Content-Type: text/markdown",
	}
	if text, err := os.ReadFile(filepath.Join(r.source, "LICENSE")); err == nil {
		lines = append(lines, "License-File: LICENSE")
		files = append(files, file{"LICENSE", 0o644, text})
	}
	text := strings.Join(lines, "\n") + "\n\n" + string(page)
	return append(files, file{"METADATA", 0o644, []byte(text)}), nil
}

// wheelFile returns the file WHEEL: a tag for each combination.
func wheelFile(platforms string) []byte {
	var b strings.Builder
	b.WriteString("Wheel-Version: 1.0\nGenerator: pretext internal/dev/release\nRoot-Is-Purelib: false\n")
	for p := range strings.SplitSeq(platforms, ".") {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", p)
	}
	return []byte(b.String())
}

// record returns the file RECORD: hash and size of every other file.
func record(files []file, info string) []byte {
	var b strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&b, "%sRECORD,,\n", info)
	return []byte(b.String())
}
