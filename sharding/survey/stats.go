package survey

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"pretext/internal/redact"
	"pretext/internal/store"
	"pretext/sharding"
)

// Options configures [Collect]. The zero value uses one goroutine and 64 MB.
type Options struct {
	Workers int    // number of files read at the same time; at least 1
	Memory  int64  // memory for hashes in bytes; more hashes go to a file; 0: 64 MB
	Temp    string // folder for the file of hashes; "": the system's temporary folder
	Vocab   string // path of a vocab.txt, used for records without one in their folder
	Top     int    // maximum number of tokens, templates, sources and languages to list, the most frequent first; 0: 50
}

const (
	defaultMemory = 64e6
	defaultTop    = 50
)

func (o Options) normal() Options {
	o.Workers = max(1, o.Workers)
	if o.Memory <= 0 {
		o.Memory = defaultMemory
	}
	if o.Top <= 0 {
		o.Top = defaultTop
	}
	return o
}

// Stats describes a data set.
type Stats struct {
	Path      string           `json:"path"`
	Stages    []Stage          `json:"stages,omitempty"`    // stages of the run or folder
	Documents []*DocumentStats `json:"documents,omitempty"` // one for each folder of documents
	Records   *RecordStats     `json:"records,omitempty"`
	HeldOut   *HeldOut         `json:"held_out,omitempty"` // nil if no documents of the shards are held out, or none are there
}

// A Stage describes a stage, using its manifest and run.json.
type Stage struct {
	Stage       string           `json:"stage"`
	Folder      string           `json:"folder"` // relative to the surveyed path; "." for that path itself
	Algorithm   int              `json:"algorithm"`
	Fingerprint string           `json:"fingerprint"`
	Options     json.RawMessage  `json:"options"`
	Inputs      []sharding.Input `json:"inputs"`
	Counts      sharding.Counts  `json:"counts"`
	Files       int              `json:"files"`
	Bytes       int64            `json:"bytes"`
	Manifest    string           `json:"manifest_sha256"`
	Downloads   []Download       `json:"downloads,omitempty"` // downloaded files
	Run         *Run             `json:"run,omitempty"`       // nil if there is no run.json

	Warnings []sharding.DescribedWarning `json:"warnings,omitempty"` // figures outside the expected range
}

// A StageWarning is a warning and the stage to which it belongs.
type StageWarning struct {
	Stage string
	sharding.DescribedWarning
}

// Warnings returns the warnings of all stages, in the order of data flow.
func (s *Stats) Warnings() (list []StageWarning) {
	for _, stage := range s.Stages {
		for _, w := range stage.Warnings {
			list = append(list, StageWarning{stage.Stage, w})
		}
	}
	return list
}

// A Download is a downloaded file and its origin.
type Download struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	sharding.Origin
}

// A Run contains the fields of run.json. It is the only part of a survey that does not
// depend on the data alone.
type Run struct {
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	CPUSeconds float64   `json:"cpu_seconds"`
	PeakRSS    int64     `json:"peak_rss"`
	Runner     string    `json:"runner"`
	Workers    int       `json:"workers"`
	Places     bool      `json:"places,omitempty"` // host and full paths were recorded (--record-paths)
	Host       string    `json:"host,omitempty"`
	Command    []string  `json:"command"`
	Sources    []string  `json:"sources"`
	Go         string    `json:"go"`
	Version    string    `json:"version"`
}

// hide removes secrets. Unless the run had the flag --record-paths, hide also removes
// host and directories, because earlier versions always recorded them.
func (r *Run) hide() {
	if r.Places {
		r.Command, r.Sources = redact.Texts(r.Command), redact.Texts(r.Sources)
		return
	}
	r.Host, r.Command, r.Sources = "", redact.Args(r.Command), redact.Args(r.Sources)
}

// Collect reads the data set at a path and returns its statistics. If data is
// corrupt, the error names the file, the record and the byte.
func Collect(ctx context.Context, path string, opts Options) (*Stats, error) {
	opts = opts.normal()
	d, stages, err := open(ctx, path)
	if err != nil {
		return nil, err
	}
	s := &Stats{Path: path}
	var converted []stage
	var documents *stage // those that the shards were made of
	for _, f := range stages {
		if f.manifest.Stage == sharding.StageConvert {
			converted = append(converted, f)
		}
		described, err := describe(ctx, f)
		if err != nil {
			return nil, err
		}
		s.Stages = append(s.Stages, described)
		if files := f.manifest.DocumentsFiles(); len(files) > 0 {
			d, err := collectDocuments(ctx, f, files, opts)
			if err != nil {
				return nil, err
			}
			s.Documents = append(s.Documents, d)
			documents = &f
		}
		if o, ok := described.Examples(); ok && f.manifest.Stage == "examples" && o.Fraction > 0 && documents != nil {
			if s.HeldOut, err = collectHeldOut(ctx, *documents, o.Split, opts); err != nil {
				return nil, err
			}
		}
		if len(f.manifest.RecordFiles()) > 0 && f.manifest.Stage != sharding.StageConvert {
			if s.Records, err = collectShards(ctx, f, opts); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(d.Records) > 0:
		s.Records, err = collectBare(ctx, d.Records, opts)
	case len(converted) > 0 && s.Records == nil: // with original shards, converted shards are only copies
		s.Records, err = collectConverted(ctx, path, converted, opts)
	}
	return s, err
}

// describe returns the description of a stage, from its manifest and run.json.
func describe(ctx context.Context, f stage) (Stage, error) {
	m := f.manifest
	s := Stage{Stage: m.Stage, Folder: f.Name, Algorithm: m.Algorithm, Fingerprint: m.Fingerprint, Options: m.Options,
		Inputs: m.Inputs, Counts: m.Counts, Files: len(m.Files), Warnings: m.Describe()}
	for _, e := range m.Files {
		s.Bytes += e.Bytes
		if e.Origin != nil {
			s.Downloads = append(s.Downloads, Download{e.Name, e.Bytes, e.SHA256, *e.Origin})
		}
	}
	raw, err := store.ReadFile(ctx, f, sharding.ManifestName)
	if err != nil {
		return s, err
	}
	s.Manifest = sharding.Hash(raw)
	raw, err = store.ReadFile(ctx, f, sharding.RunName)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	run := new(Run)
	if json.Unmarshal(raw, run) == nil { // a corrupt run.json is ignored, since no result depends on it
		s.Run = run
		run.hide()
	}
	return s, nil
}
