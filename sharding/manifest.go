package sharding

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"pretext/counts"
	"pretext/extract"
	"pretext/extract/wiki/facts"
	"pretext/internal/store"
)

// FormatVersion is the version of all JSON files of this package. It is raised if an old
// program would misread a new file.
const FormatVersion = 1

// PlanVersion is the version of plan.json. In version 2 the plans of all tasks are in
// one file, [TasksName]; in version 1 each is in a file of its own, [OldTaskFile].
const PlanVersion = 2

// Counts are totals by name. Package counts declares the names; docs/file-format.md
// lists them.
type Counts = counts.Counts

// An Input is one input of a stage: a source file or the manifest of an input folder. It
// is identified by base name, size and hash.
type Input struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // hash of a manifest's content; for a source file, its EndsHash
}

// A Recipe is everything that determines the bytes of a stage's folder. The
// hash of the recipe is the fingerprint of the stage's plan.
type Recipe struct {
	FormatVersion int             `json:"format_version"`
	Stage         string          `json:"stage"`
	Algorithm     int             `json:"algorithm"` // raised when a new program version writes different bytes
	Options       json.RawMessage `json:"options"`   // normalized, named as in google-research/bert
	Inputs        []Input         `json:"inputs"`    // in source order
}

// Fingerprint returns the SHA-256 of the recipe's compact JSON, in hexadecimal.
func (r Recipe) Fingerprint() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("BUG: recipe cannot be marshalled: " + err.Error())
	}
	return Hash(b)
}

// A StagePlan is the content of plan.json, which describes the tasks of a stage. A worker
// commits a file only if plan.json has the same fingerprint as the worker's own plan. So
// a leftover worker with an older plan cannot write to the folder.
type StagePlan struct {
	// Version is [PlanVersion], or 1 in folders of earlier versions. It is not part of
	// the recipe, so that it does not change the fingerprint.
	Version int `json:"format_version"`
	Recipe
	Tasks       int    `json:"tasks"`
	TasksSHA256 string `json:"tasks_sha256,omitempty"` // hash of the file of tasks; in version 1 the hash of plan/SHA256SUMS, or ""
	Fingerprint string `json:"fingerprint"`
}

// A FileEntry describes one file in a manifest.
type FileEntry struct {
	Name   string `json:"name"`
	Task   int    `json:"task"` // index of the task that wrote the file; for documents, the source order
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Counts Counts `json:"counts,omitempty"` // for data files
	// Origin is where a downloaded file comes from; nil for other files.
	Origin *Origin `json:"origin,omitempty"`
}

// An Origin records where a downloaded file comes from, how its content was verified
// and under which licence it may be used.
type Origin struct {
	URL            string `json:"url"`                       // without secrets such as tokens
	URLSHA256      string `json:"url_sha256,omitempty"`      // of the full URL, if URL was redacted
	Kind           string `json:"kind"`                      // source kind: "wiki" or "books"
	Checksum       string `json:"checksum,omitempty"`        // "algorithm:hex"; empty if the source publishes none
	ChecksumSource string `json:"checksum_source,omitempty"` // URL or file that publishes the checksum
	Licence        string `json:"licence"`
}

// A Manifest is the content of manifest.json, which is written last and makes a folder
// valid. It contains only what determines the bytes of the folder, and what is derived
// from them. It contains no times or machine names, so it is reproducible.
type Manifest struct {
	Recipe
	Fingerprint string      `json:"fingerprint"`
	Counts      Counts      `json:"counts"` // sums over the files
	Files       []FileEntry `json:"files"`  // sorted by name

	// Dropped lists templates without text, in folders of the extract stage.
	Dropped *facts.DroppedTemplates `json:"dropped_templates,omitempty"`

	// Warnings are figures outside the expected range. [Manifest.Describe] explains them.
	Warnings []Warning `json:"warnings,omitempty"`

	parts []ManifestPart // parts from which the manifest was read; nil if it was one file
}

// RecordFiles returns the files of records, sorted by name.
func (m *Manifest) RecordFiles() (files []FileEntry) {
	for _, f := range m.Files {
		if n, ok := ParseShardName(f.Name); ok && (f.Name == n.Records(false) || f.Name == n.Records(true)) {
			files = append(files, f)
		}
	}
	return files
}

// DocumentsFiles returns the documents files in source order.
func (m *Manifest) DocumentsFiles() (files []FileEntry) {
	for _, f := range m.Files {
		if strings.HasSuffix(f.Name, DocumentsSuffix) {
			files = append(files, f)
		}
	}
	slices.SortStableFunc(files, func(a, b FileEntry) int { return a.Task - b.Task })
	return files
}

// RejectSummary returns the reject reasons with their counts, as one phrase.
func RejectSummary(c Counts) string {
	var parts []string
	for reason, n := range extract.Rejects.Members(c) {
		parts = append(parts, fmt.Sprintf("%d %s", n, reason))
	}
	if len(parts) == 0 {
		return "nothing was rejected"
	}
	return "rejected: " + strings.Join(parts, ", ")
}

// RejectRepeatedLines is the reason for which a filter rejects a document that has no lines
// but repeated ones.
const RejectRepeatedLines extract.Reject = "repeated-lines"

// Reasons for which a filter rejects duplicates.
const (
	RejectDuplicate     extract.Reject = "duplicate"      // equal words in an earlier document
	RejectNearDuplicate extract.Reject = "near-duplicate" // nearly equal words
	RejectContained     extract.Reject = "contained"      // mostly contained in another document, or in one that it duplicates
)

// A SideCar is the content of the JSON file beside a data file. It proves that the data
// file is complete, and identifies its plan by the fingerprint.
type SideCar struct {
	FormatVersion int       `json:"format_version"`
	Stage         string    `json:"stage"`
	Fingerprint   string    `json:"fingerprint"` // fingerprint of the plan to which the file belongs
	Task          int       `json:"task"`
	File          FileEntry `json:"file"`
	Index         FileEntry `json:"index,omitzero"`
	// More lists further files that the same task wrote.
	More []FileEntry `json:"more,omitempty"`
	// Body is stage-specific: the block table of a documents file, the record
	// table of a shard.
	Body json.RawMessage `json:"body,omitempty"`
	// Facts is a summary of Body in memory, so that the program that writes the manifest
	// need not parse Body again. It is not written to the file.
	Facts *Facts `json:"-"`
}

// Hash returns the SHA-256 of b in hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Marshal returns v as JSON in the form of a folder's files: indented by one space,
// without escaping HTML characters, with a line feed at the end.
func Marshal(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(v); err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	return buf.Bytes()
}

// Compact returns v as JSON on one line, for the tables of a folder.
func Compact(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	return buf.Bytes()
}

// Compact returns the side-car as [Compact] does, but takes its body as it is, since a
// table of records has megabytes: the body must be JSON without white space.
func (c SideCar) Compact() []byte {
	body := c.Body
	c.Body = nil
	line := Compact(c)
	if len(body) == 0 {
		return line
	}
	const end = "}\n"
	out := make([]byte, 0, len(line)+len(`,"body":`)+len(body))
	out = append(append(out, line[:len(line)-len(end)]...), `,"body":`...)
	return append(append(out, body...), end...)
}

// ReadManifest reads and validates the manifest of a folder. If the manifest does not
// exist or does not belong to the folder's plan, the error matches [ErrUnfinished].
func ReadManifest(ctx context.Context, folder Folder) (*Manifest, error) {
	m, err := ReadManifestHead(ctx, folder)
	if err != nil {
		return nil, err
	}
	files := m.Files
	if len(m.parts) > 0 {
		files = nil
	}
	for e, err := range m.EachFile(ctx, folder) {
		if err != nil {
			return nil, err
		}
		if len(m.parts) > 0 {
			files = append(files, e)
		}
	}
	m.Files = files
	return m, nil
}

// plainAfter reports whether name is a plain file name and sorts after last.
func plainAfter(name, last string) bool {
	return name == filepath.Base(name) && name != "." && name != ".." && name > last
}

// ManifestInput returns the manifest of a folder as an input of a later stage.
// If there is no manifest, the error matches [fs.ErrNotExist].
func ManifestInput(ctx context.Context, folder Folder) (Input, error) {
	raw, err := store.ReadFile(ctx, folder, ManifestName)
	return Input{Name: ManifestName, Bytes: int64(len(raw)), SHA256: Hash(raw)}, err
}

// DecodeOptions decodes the stage options in m into to, a pointer such as an
// [*ExamplesOptions]. folder is only for error messages.
func (m *Manifest) DecodeOptions(folder Folder, to any) error {
	if err := json.Unmarshal(m.Options, to); err != nil {
		return fmt.Errorf("read %s in %s: %w: %v", ManifestName, folder, ErrFormat, err)
	}
	return nil
}

// ReadPlan reads the plan of a folder. If there is none, the error matches
// [fs.ErrNotExist].
func ReadPlan(ctx context.Context, folder Folder) (*StagePlan, error) {
	var p StagePlan
	if err := readJSON(ctx, folder, PlanName, &p, 1, PlanVersion); err != nil {
		return nil, err
	}
	p.Recipe.FormatVersion = FormatVersion
	return &p, nil
}

// ReadSideCar reads the side-car (the JSON file beside a data file) with the
// given name. If it does not exist, the error matches [fs.ErrNotExist].
func ReadSideCar(ctx context.Context, folder Folder, name string) (*SideCar, error) {
	raw, err := store.ReadFile(ctx, folder, name)
	if err != nil {
		return nil, err
	}
	var s SideCar
	if err := parseSideCar(raw, &s); err != nil {
		return nil, fmt.Errorf("read %s in %s: %w", name, folder, err)
	}
	return &s, nil
}

func readJSON(ctx context.Context, folder Folder, name string, to any, versions ...int) error {
	b, err := store.ReadFile(ctx, folder, name)
	if err != nil {
		return err
	}
	if err := parseJSON(b, to, versions...); err != nil {
		return fmt.Errorf("read %s in %s: %w", name, folder, err)
	}
	return nil
}

// parseJSON parses a file and checks its format version, which must be one of versions,
// or [FormatVersion] if versions is empty. Every error matches [ErrFormat], including a
// [*failure.Newer].
func parseJSON(b []byte, to any, versions ...int) error {
	version, err := versionOf(b)
	if err == nil {
		err = checkVersion(version, versions...) // first, because newer files may have unknown members
	}
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil && !errors.Is(err, ErrFormat) {
		err = fmt.Errorf("%w: %v", ErrFormat, err)
	}
	return err
}

// versionOf returns the format version of a JSON file. In files of this program it is the
// first member, so versionOf need not parse the rest.
func versionOf(b []byte) (int, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if open, err := d.Token(); err == nil && open == json.Delim('{') {
		key, err := d.Token()
		version := 0
		if err == nil && key == "format_version" && d.Decode(&version) == nil {
			return version, nil
		}
	}
	var file struct {
		FormatVersion int `json:"format_version"`
	}
	err := json.Unmarshal(b, &file)
	return file.FormatVersion, err
}

// checkVersion checks that version is one of versions, or [FormatVersion] if versions is
// empty. Every error matches [ErrFormat], including a [*failure.Newer].
func checkVersion(version int, versions ...int) error {
	if len(versions) == 0 {
		versions = []int{FormatVersion}
	}
	if err := newer(version, slices.Max(versions)); err != nil {
		return err
	}
	if !slices.Contains(versions, version) {
		return fmt.Errorf("%w: format version %d, this program reads version %d", ErrFormat, version, versions[len(versions)-1])
	}
	return nil
}
