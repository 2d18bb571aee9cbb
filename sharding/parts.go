package sharding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"

	"pretext/extract/wiki/facts"
	"pretext/internal/store"
)

// manifestPartsVersion is the format version of a manifest in parts. A manifest of up to
// 30,000 files is a single file with [FormatVersion].
const manifestPartsVersion = 2

// Limits for a manifest in one file, and for each part of a larger manifest. They are
// variables so that tests can use small parts.
var (
	maxWholeManifest = 30_000 // files
	maxPartFiles     = 10_000
)

// A ManifestPart names a file with a part of a manifest's file list: one line of JSON for
// each entry. Entries are sorted by name within a part and across parts.
type ManifestPart struct {
	Name   string `json:"name"`
	Files  int    `json:"files"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// manifestPartName returns the name of a part.
func manifestPartName(part int) string { return fmt.Sprintf("%s%05d.jsonl", manifestPrefix, part) }

// manifestHead is the content of manifest.json for a manifest in parts. The fingerprint
// still uses [FormatVersion] for the recipe.
type manifestHead struct {
	FormatVersion int `json:"format_version"`
	Recipe
	Fingerprint string                  `json:"fingerprint"`
	Counts      Counts                  `json:"counts"`
	Parts       []ManifestPart          `json:"parts"`
	Dropped     *facts.DroppedTemplates `json:"dropped_templates,omitempty"`
	Warnings    []Warning               `json:"warnings,omitempty"`
}

// Write calls write for each file of the manifest: its parts, if it has any, and
// last [ManifestName].
func (m *Manifest) Write(write func(name string, data []byte) error) error {
	if len(m.Files) <= maxWholeManifest {
		return write(ManifestName, Marshal(m))
	}
	head := manifestHead{manifestPartsVersion, m.Recipe, m.Fingerprint, m.Counts, nil, m.Dropped, m.Warnings}
	for files := m.Files; len(files) > 0; {
		n := min(len(files), maxPartFiles)
		var lines bytes.Buffer
		enc := json.NewEncoder(&lines)
		enc.SetEscapeHTML(false)
		for _, e := range files[:n] {
			if err := enc.Encode(e); err != nil {
				return err
			}
		}
		part := ManifestPart{manifestPartName(len(head.Parts)), n, int64(lines.Len()), Hash(lines.Bytes())}
		if err := write(part.Name, lines.Bytes()); err != nil {
			return err
		}
		head.Parts, files = append(head.Parts, part), files[n:]
	}
	return write(ManifestName, Marshal(head))
}

// ReadManifestHead reads and validates the manifest of a folder like [ReadManifest], but
// does not read its parts: if it has parts, Files is empty. [Manifest.EachFile] reads the
// parts one after the other, so that memory does not grow with their number.
func ReadManifestHead(ctx context.Context, folder Folder) (*Manifest, error) {
	m, err := readManifest(ctx, folder)
	if err != nil {
		return nil, err
	}
	if m.Recipe.Fingerprint() != m.Fingerprint {
		return nil, fmt.Errorf("read %s in %s: %w: the fingerprint is not that of the options and inputs", ManifestName, folder, ErrFormat)
	}
	// A worker with an older plan that was paused may have written this manifest.
	plan, err := ReadPlan(ctx, folder)
	if err == nil && plan.Fingerprint != m.Fingerprint && plan.Recipe.Fingerprint() == plan.Fingerprint {
		return nil, &otherPlanError{folder.String()}
	}
	return m, nil
}

// readManifest reads manifest.json.
func readManifest(ctx context.Context, folder Folder) (*Manifest, error) {
	raw, err := store.ReadFile(ctx, folder, ManifestName)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s: %w", folder, ErrUnfinished)
		}
		return nil, err
	}
	var m Manifest
	var head manifestHead
	if json.Unmarshal(raw, &head); head.FormatVersion != manifestPartsVersion {
		if err := newer(head.FormatVersion, manifestPartsVersion); err != nil {
			return nil, fmt.Errorf("read %s in %s: %w", ManifestName, folder, err)
		}
		if err := parseJSON(raw, &m); err != nil {
			return nil, fmt.Errorf("read %s in %s: %w", ManifestName, folder, err)
		}
		return &m, nil
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("read %s in %s: %w: %v", ManifestName, folder, ErrFormat, err)
	}
	m = Manifest{Recipe: head.Recipe, Fingerprint: head.Fingerprint, Counts: head.Counts, Dropped: head.Dropped, Warnings: head.Warnings, parts: head.Parts}
	m.Recipe.FormatVersion = FormatVersion
	for i, p := range m.parts {
		if p.Name != manifestPartName(i) {
			return nil, fmt.Errorf("read %s in %s: %w: part %d is named %q, must be %q", ManifestName, folder, ErrFormat, i, p.Name, manifestPartName(i))
		}
	}
	return &m, nil
}

// EachFile yields the files of a manifest sorted by name, and at most one error. m must
// come from [ReadManifestHead] or [ReadManifest] of the same folder.
func (m *Manifest) EachFile(ctx context.Context, folder Folder) iter.Seq2[FileEntry, error] {
	return func(yield func(FileEntry, error) bool) {
		last := ""
		check := func(file string, e FileEntry) error {
			if !plainAfter(e.Name, last) { // a name must not point outside the folder
				return fmt.Errorf("read %s in %s: %w: file %q is not a plain name after %q", file, folder, ErrFormat, e.Name, last)
			}
			last = e.Name
			return nil
		}
		for _, e := range m.Files {
			if err := check(ManifestName, e); err != nil || !yield(e, nil) {
				fail(yield, err)
				return
			}
		}
		if len(m.Files) > 0 {
			return // m.Files came from the parts
		}
		ahead := m.readAhead(ctx, folder)
		defer ahead.stop()
		for _, p := range m.parts {
			files, err := ahead.next()
			if err != nil {
				fail(yield, err)
				return
			}
			for _, e := range files {
				if err := check(p.Name, e); err != nil || !yield(e, nil) {
					fail(yield, err)
					return
				}
			}
		}
	}
}

// partsAhead is the number of parts that are read at the same time. One has 10,000 files,
// about 10 MB in memory.
const partsAhead = 4

// A partReader reads the parts of a manifest ahead, in order.
type partReader struct {
	cancel context.CancelFunc
	ended  func() error         // why reading ended early
	parts  chan chan partResult // a channel for each part that is being read
}

type partResult struct {
	files []FileEntry
	err   error
}

// readAhead starts to read the parts of m. The caller calls next for each, and stop.
func (m *Manifest) readAhead(ctx context.Context, folder Folder) *partReader {
	ctx, cancel := context.WithCancel(ctx)
	r := &partReader{cancel, ctx.Err, make(chan chan partResult, partsAhead-1)}
	go func() {
		defer close(r.parts)
		for _, p := range m.parts {
			part := make(chan partResult, 1)
			select {
			case r.parts <- part:
			case <-ctx.Done():
				return
			}
			go func() {
				files, err := p.read(ctx, folder)
				part <- partResult{files, err}
			}()
		}
	}()
	return r
}

func (r *partReader) next() ([]FileEntry, error) {
	part, ok := <-r.parts
	if !ok {
		return nil, r.ended()
	}
	result := <-part
	return result.files, result.err
}

// stop ends the reading and waits for it.
func (r *partReader) stop() {
	r.cancel()
	for part := range r.parts {
		<-part
	}
}

func fail(yield func(FileEntry, error) bool, err error) {
	if err != nil {
		yield(FileEntry{}, err)
	}
}

// read reads the entries of a part.
func (p ManifestPart) read(ctx context.Context, folder Folder) ([]FileEntry, error) {
	raw, err := store.ReadFile(ctx, folder, p.Name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("read %s in %s: %w: missing", p.Name, folder, ErrFormat)
		}
		return nil, err
	}
	if int64(len(raw)) != p.Bytes || Hash(raw) != p.SHA256 {
		return nil, fmt.Errorf("read %s in %s: %w: its size or SHA-256 is not that in %s", p.Name, folder, ErrFormat, ManifestName)
	}
	files := make([]FileEntry, 0, min(p.Files, maxWholeManifest))
	for line := range bytes.Lines(raw) {
		var e FileEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read %s in %s: %w: %v", p.Name, folder, ErrFormat, err)
		}
		files = append(files, e)
	}
	if len(files) != p.Files {
		return nil, fmt.Errorf("read %s in %s: %w: %d files, %s says %d", p.Name, folder, ErrFormat, len(files), ManifestName, p.Files)
	}
	return files, nil
}

// Parts returns the parts of a manifest that was read from a folder; nil if it is
// one file.
func (m *Manifest) Parts() []ManifestPart { return m.parts }
