package sharding

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"pretext/internal/store"
)

// FormatVersion is the version of all JSON files described here. It changes
// when an old reader would misread a new file.
const FormatVersion = 1

// Counts are totals under names that docs/format.md lists. JSON writes them
// sorted by name.
type Counts map[string]int64

// Add adds other to c.
func (c Counts) Add(other Counts) {
	for k, v := range other {
		c[k] += v
	}
}

// Clone returns a copy.
func (c Counts) Clone() Counts { return maps.Clone(c) }

// An Input is what a stage was made from: a source, known by its base name,
// size and hash, or the manifest of the folder before it.
type Input struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // of the content; of raw sources, of the first and last MiB (see EndsHash)
}

// A Recipe is everything that decides the bytes of a stage's folder. Its hash
// is the plan's fingerprint.
type Recipe struct {
	FormatVersion int             `json:"format_version"`
	Stage         string          `json:"stage"`
	Algorithm     int             `json:"algorithm"` // raised when the bytes of the stage change
	Options       json.RawMessage `json:"options"`   // normalized, under Google's names
	Inputs        []Input         `json:"inputs"`    // in source order
}

// Fingerprint returns the SHA-256 of the recipe's compact JSON form.
func (r Recipe) Fingerprint() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic("BUG: recipe cannot be marshalled: " + err.Error())
	}
	return Hash(b)
}

// A StagePlan is plan.json: the index of a stage's tasks and the fence that
// keeps a stale worker of another plan from committing.
type StagePlan struct {
	Recipe
	Tasks       int    `json:"tasks"`
	TasksSHA256 string `json:"tasks_sha256,omitempty"` // of plan/SHA256SUMS; "" in folders of earlier versions
	Fingerprint string `json:"fingerprint"`
}

// A FileEntry is one file of a manifest.
type FileEntry struct {
	Name   string `json:"name"`
	Task   int    `json:"task"` // index of the task that wrote it: source order for documents
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Counts Counts `json:"counts,omitempty"` // of data files
	// Origin is where a downloaded file comes from.
	Origin *Origin `json:"origin,omitempty"`
}

// An Origin is where a file comes from, how that is known to be so, and on what
// terms it may be used.
type Origin struct {
	URL            string `json:"url"`                       // without what may be secret in it
	URLSHA256      string `json:"url_sha256,omitempty"`      // of the whole, where URL is not
	Kind           string `json:"kind"`                      // of source: "wiki" or "books"
	Checksum       string `json:"checksum,omitempty"`        // algorithm, colon, digits; none where the source publishes none
	ChecksumSource string `json:"checksum_source,omitempty"` // where it stands
	Licence        string `json:"licence"`
}

// A Manifest makes a folder valid. It holds only what decides bytes, and what
// follows from it.
type Manifest struct {
	Recipe
	Fingerprint string      `json:"fingerprint"`
	Counts      Counts      `json:"counts"` // sums over the files
	Files       []FileEntry `json:"files"`  // sorted by name

	// Dropped is what the extract stage could not make text of.
	Dropped *DroppedTemplates `json:"dropped_templates,omitempty"`

	// Warnings are figures outside their limits; see [Manifest.Describe].
	Warnings []Warning `json:"warnings,omitempty"`
}

// DroppedTemplates are the templates of wiki pages that gave no text because
// nobody has written how to show them: the next ones to write.
type DroppedTemplates struct {
	Templates []TemplateUses `json:"templates"` // the most used first, equal ones by name; 100 at most

	// Slack is the most that a number of uses can be too small by. It is 0, and
	// all numbers are exact, while no task met more names than it counts.
	Slack int64 `json:"slack"`
}

// TemplateUses says how often a template was used.
type TemplateUses struct {
	Name string `json:"name"` // in lower case, 64 bytes at most
	Uses int64  `json:"uses"`
}

// A SideCar stands beside a data file and proves it: that it is whole, and
// which plan it belongs to.
type SideCar struct {
	FormatVersion int       `json:"format_version"`
	Stage         string    `json:"stage"`
	Fingerprint   string    `json:"fingerprint"` // of the plan
	Task          int       `json:"task"`
	File          FileEntry `json:"file"`
	Index         FileEntry `json:"index,omitzero"`
	// More are files beside it that the same task wrote.
	More []FileEntry `json:"more,omitempty"`
	// Body is what the stage says of the file beyond its counts: the block
	// table of a documents file, the record table of a shard.
	Body json.RawMessage `json:"body,omitempty"`
}

// ErrUnfinished says that a folder has no manifest.
var ErrUnfinished = errors.New("no " + ManifestName + ": the folder is not finished, or not one of ours")

// ErrFormat says that a JSON file of a folder cannot be understood.
var ErrFormat = errors.New("damaged or foreign file")

// Hash returns the SHA-256 of b in hexadecimal.
func Hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Marshal returns the form in which the JSON files of a folder are written:
// indented by a space, HTML characters as they are, a line feed at the end.
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

// Compact returns the one-line form of [Marshal], for tables.
func Compact(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("BUG: cannot be marshalled: " + err.Error())
	}
	return buf.Bytes()
}

// ReadManifest reads the manifest of a folder. The error matches
// [ErrUnfinished] when there is none.
func ReadManifest(ctx context.Context, folder store.Folder) (*Manifest, error) {
	var m Manifest
	err := readJSON(ctx, folder, ManifestName, &m)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", folder, ErrUnfinished)
	}
	if err != nil {
		return nil, err
	}
	if m.Recipe.Fingerprint() != m.Fingerprint {
		return nil, fmt.Errorf("read %s in %s: %w: its fingerprint does not fit its options and inputs", ManifestName, folder, ErrFormat)
	}
	return &m, nil
}

// ReadPlan reads the plan of a folder; the error matches [fs.ErrNotExist] when
// there is none.
func ReadPlan(ctx context.Context, folder store.Folder) (*StagePlan, error) {
	var p StagePlan
	if err := readJSON(ctx, folder, PlanName, &p); err != nil {
		return nil, err
	}
	return &p, nil
}

// ReadSideCar reads a side-car; the error matches [fs.ErrNotExist] when there
// is none.
func ReadSideCar(ctx context.Context, folder store.Folder, name string) (*SideCar, error) {
	var s SideCar
	if err := readJSON(ctx, folder, name, &s); err != nil {
		return nil, err
	}
	return &s, nil
}

func readJSON(ctx context.Context, folder store.Folder, name string, to any) error {
	b, err := store.ReadFile(ctx, folder, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("read %s in %s: %w: %v", name, folder, ErrFormat, err)
	}
	var version struct {
		FormatVersion int `json:"format_version"`
	}
	if err := json.Unmarshal(b, &version); err != nil || version.FormatVersion != FormatVersion {
		return fmt.Errorf("read %s in %s: %w: format version %d, this program knows %d", name, folder, ErrFormat, version.FormatVersion, FormatVersion)
	}
	return nil
}
