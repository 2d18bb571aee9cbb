package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/trainer"
)

// More names in a folder. The manifest comes last and makes the rest valid.
const (
	optimizerFile = "optimizer.safetensors"
	stateFile     = "trainer.json"
	manifestFile  = "manifest.json"
	vocabFile     = "vocab.txt"
	tokenizerJSON = "tokenizer.json"
	tokenizerFile = "tokenizer_config.json"
)

// formatVersion is raised when a folder's layout changes.
const formatVersion = 1

// State is trainer.json: everything a resume needs besides the tensors. It holds
// no times and no paths, so equal runs give equal folders.
type State struct {
	Format    int               `json:"format"`
	Phase     int               `json:"phase"` // counted from 1: 128, then 512 tokens
	Progress  trainer.Progress  `json:"progress"`
	Model     trainer.State     `json:"model"`
	Heads     trainer.Heads     `json:"heads"`
	Batch     int               `json:"train_batch_size"`     // B, sequences of a step over all ranks
	Tokens    int               `json:"micro_batch_tokens"`   // T
	Ranks     int               `json:"ranks"`                // R when it was written; may differ at the resume
	Seed      uint64            `json:"seed"`                 // of weights, order and dropout
	Data      string            `json:"data_manifest_sha256"` // a changed one is refused at the resume
	Schedule  trainer.Schedule  `json:"schedule"`
	Optimizer trainer.Optimizer `json:"optimizer"`
	Options   map[string]string `json:"options,omitempty"` // further flags that decide numbers
}

// A Tokenizer is what a folder needs to be used alone.
type Tokenizer struct {
	Vocab     []byte // the content of vocab.txt
	LowerCase bool

	// File is the content of a tokenizer.json, in place of Vocab; Special names
	// its tokens as tokenizer_config.json does: "cls_token" and so on.
	File    []byte
	Special map[string]string

	Labels []string // names of a classifier's classes, for config.json; nil: transformers' own
}

// A manifest lists the files of a folder, sorted by name.
type manifest struct {
	Format int         `json:"format"`
	Files  []fileEntry `json:"files"`
}

type fileEntry struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// WriteModel writes a folder that transformers' from_pretrained loads:
// config.json, model.safetensors, and given a vocabulary also vocab.txt and
// tokenizer_config.json. The folder appears whole or not at all; one that
// exists is replaced.
func WriteModel(dir string, c trainer.Config, h trainer.Heads, t Tokenizer, weights iter.Seq2[trainer.Tensor, error]) error {
	err := replaceFolder(dir, func(f *folder) error { return f.writeModel(c, h, t, weights) })
	if err != nil {
		return fmt.Errorf("write model %s: %w", dir, err)
	}
	return nil
}

// Write writes the checkpoint of a model as out/step-NNNNNNNN and returns the
// folder's path. The model's optimizer state must have been gathered.
func Write(out string, c trainer.Config, s State, t Tokenizer, m trainer.Model) (string, error) {
	s.Format, s.Model = formatVersion, m.State()
	dir := filepath.Join(out, fmt.Sprintf("step-%08d", s.Progress.Step))
	err := replaceFolder(dir, func(f *folder) error {
		if err := f.writeModel(c, s.Heads, t, m.Tensors(trainer.Weights)); err != nil {
			return err
		}
		if err := f.writeOptimizer(trainer.Tensors(c, s.Heads), m); err != nil {
			return err
		}
		return f.writeJSON(stateFile, s)
	})
	if err != nil {
		return "", fmt.Errorf("write checkpoint %s: %w", dir, err)
	}
	return dir, nil
}

// replaceFolder builds a folder under a temporary name, ends it with its
// manifest, and moves it to its place.
func replaceFolder(dir string, build func(*folder) error) (err error) {
	parent, base := filepath.Split(filepath.Clean(dir))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return err
	}
	tmp := filepath.Join(parent, ".tmp-"+base)
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.Mkdir(tmp, 0o777); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	f := &folder{dir: tmp}
	if err := build(f); err != nil {
		return err
	}
	if err := f.writeManifest(); err != nil {
		return err
	}
	return swap(tmp, dir, parent)
}

// swap puts tmp in the place of dir.
func swap(tmp, dir, parent string) error {
	old := tmp + "-old"
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	if err := syncFolder(parent); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// A folder is being written; it notes what it holds.
type folder struct {
	dir   string
	files []fileEntry
}

// create writes one file through write, and syncs it.
func (f *folder) create(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	w := &hashing{w: file, hash: sha256.New()}
	buffered := bufio.NewWriterSize(w, 1<<20)
	err = write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.files = append(f.files, fileEntry{name, w.n, hex.EncodeToString(w.hash.Sum(nil))})
	return nil
}

// hashing counts and hashes what passes.
type hashing struct {
	w    io.Writer
	hash hash.Hash
	n    int64
}

// Write implements io.Writer.
func (h *hashing) Write(b []byte) (int, error) {
	n, err := h.w.Write(b)
	h.hash.Write(b[:n])
	h.n += int64(n)
	return n, err
}

func (f *folder) writeBytes(name string, b []byte) error {
	return f.create(name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

func (f *folder) writeJSON(name string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return f.writeBytes(name, append(b, '\n'))
}

func (f *folder) writeManifest() error {
	slices.SortFunc(f.files, func(a, b fileEntry) int { return strings.Compare(a.Name, b.Name) })
	if err := f.writeJSON(manifestFile, manifest{Format: formatVersion, Files: f.files}); err != nil {
		return err
	}
	return syncFolder(f.dir)
}

func (f *folder) writeModel(c trainer.Config, h trainer.Heads, t Tokenizer, weights iter.Seq2[trainer.Tensor, error]) error {
	if err := f.writeJSON(configFile, transformersConfig(c, h, t.Labels)); err != nil {
		return err
	}
	err := f.create(weightsFile, func(w io.Writer) error {
		return WriteSafetensors(w, trainer.Tensors(c, h), weights)
	})
	if err != nil || t.Vocab == nil && t.File == nil {
		return err
	}
	name, data := vocabFile, t.Vocab
	if t.File != nil {
		name, data = tokenizerJSON, t.File
	}
	if err := f.writeBytes(name, data); err != nil {
		return err
	}
	return f.writeJSON(tokenizerFile, tokenizerConfig(c, t))
}

// Prefixes of the optimizer's tensors.
const (
	firstPrefix  = "m."
	secondPrefix = "v."
)

// writeOptimizer writes both moments into one file: all of m, then all of v.
func (f *folder) writeOptimizer(specs []trainer.TensorSpec, m trainer.Model) error {
	var both []trainer.TensorSpec
	for _, prefix := range []string{firstPrefix, secondPrefix} {
		for _, s := range specs {
			s.Name = prefix + s.Name
			both = append(both, s)
		}
	}
	return f.create(optimizerFile, func(w io.Writer) error { return WriteSafetensors(w, both, moments(m)) })
}

// moments yields m and then v, by the names they have in the file.
func moments(m trainer.Model) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		for t, err := range m.Tensors(trainer.FirstMoment) {
			t.Name = firstPrefix + t.Name
			if !yield(t, err) || err != nil {
				return
			}
		}
		for t, err := range m.Tensors(trainer.SecondMoment) {
			t.Name = secondPrefix + t.Name
			if !yield(t, err) || err != nil {
				return
			}
		}
	}
}
