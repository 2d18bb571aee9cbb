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
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/tokenize/hf"
	"pretext/trainer"
)

// File names in a folder, besides config.json and model.safetensors. The
// manifest is written last and makes the folder valid.
const (
	optimizerFile = "optimizer.safetensors"
	stateFile     = "trainer.json"
	manifestFile  = "manifest.json"
	vocabFile     = "vocab.txt"
	tokenizerJSON = hf.FileName
)

// formatVersion is raised when the layout of a checkpoint folder changes.
const formatVersion = 1

// State is the content of trainer.json: all values except tensors that are needed to
// resume. It contains no times or paths, so equal runs give equal folders.
type State struct {
	Format    int               `json:"format"`
	Phase     int               `json:"phase"` // from 1; examples usually have 128 tokens in phase 1 and 512 in phase 2
	Progress  trainer.Progress  `json:"progress"`
	Model     trainer.State     `json:"model"`
	Heads     trainer.Heads     `json:"heads"`
	Batch     int               `json:"train_batch_size"`     // sequences in a step, over all ranks
	Tokens    int               `json:"micro_batch_tokens"`   // maximum tokens of a micro-batch
	Multiple  int               `json:"micro_batch_multiple"` // argument of [trainer.Cut]: the number of ranks at the start of the run; 0: from an earlier version, whose micro-batches had unequal sizes
	Ranks     int               `json:"ranks"`                // number of ranks when the checkpoint was written; may differ when resuming
	Zero1     bool              `json:"zero1,omitempty"`      // the ranks divided the optimizer's state when the checkpoint was written; may differ when resuming
	Seed      uint64            `json:"seed"`                 // of initial weights, order of examples and dropout
	Device    string            `json:"device"`               // kind of device when the checkpoint was written; may differ when resuming
	Precision trainer.Precision `json:"precision"`            // when the checkpoint was written; "": fp32, written by an earlier version
	Data      string            `json:"data_manifest_sha256"` // SHA-256 of the manifest of the data; if it differs, resuming is refused
	Schedule  trainer.Schedule  `json:"schedule"`
	Optimizer trainer.Optimizer `json:"optimizer"`
	Options   map[string]string `json:"options,omitempty"` // further flags that affect the results
}

// A Tokenizer holds the tokenizer files of a model folder.
type Tokenizer struct {
	Vocab     []byte // the content of vocab.txt
	LowerCase bool   // do_lower_case in tokenizer_config.json

	// StripAccents and TokenizeChineseChars are strip_accents and
	// tokenize_chinese_chars in tokenizer_config.json. StripAccents nil means
	// the value of LowerCase, TokenizeChineseChars nil means true. A nil value
	// is not written.
	StripAccents, TokenizeChineseChars *bool

	// File is the content of tokenizer.json; nil: none. A tokenizer other than
	// BERT's has only File and no Vocab. Special maps keys of
	// tokenizer_config.json ("cls_token" and so on) to the special tokens; it is
	// used only without Vocab.
	File    []byte
	Special map[string]string

	Labels []string // class names for config.json; nil: transformers' default names
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
// config.json, model.safetensors, and the files of the tokenizer if t has any.
// The folder is created or replaced atomically.
func WriteModel(dir string, c trainer.Config, h trainer.Heads, t Tokenizer, weights iter.Seq2[trainer.Tensor, error]) error {
	return writeModel(dir, c, h, t, trainer.Tensors(c, h), weights)
}

func writeModel(dir string, c trainer.Config, h trainer.Heads, t Tokenizer, specs []trainer.TensorSpec, weights iter.Seq2[trainer.Tensor, error]) error {
	err := replaceFolder(dir, floatBytes*elements(specs), func(f *folder) error { return f.writeTensors(c, h, t, specs, weights) })
	if err != nil {
		return fmt.Errorf("write model %s: %w", dir, err)
	}
	return nil
}

// Write writes p with the heads h to the folder dir, as [WriteModel] does. If h has no
// heads, it writes only the encoder, as transformers' BertModel: embeddings, layers,
// and the pooler if p has one.
func (p *Pretrained) Write(dir string, h trainer.Heads, t Tokenizer) error {
	specs := trainer.Tensors(p.Config, h)
	if h == (trainer.Heads{}) && p.Config.Modern == nil {
		specs = slices.DeleteFunc(trainer.Tensors(p.Config, trainer.Heads{NSP: true}), func(s trainer.TensorSpec) bool {
			return !strings.HasPrefix(s.Name, "bert.") || strings.HasPrefix(s.Name, "bert.pooler.") && p.names[s.Name] == ""
		})
	}
	return writeModel(dir, p.Config, h, t, specs, func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, s := range specs {
			t, err := p.Tensor(s.Name, data)
			if !yield(t, err) || err != nil {
				return
			}
			data = t.Data
		}
	})
}

// Folder returns the path of the checkpoint of a step in the output directory
// of a run, for example OUT/step-00001000.
func Folder(out string, step int64) string { return filepath.Join(out, fmt.Sprintf("step-%08d", step)) }

// write writes a checkpoint folder with the tensors and counters of m, and the
// progress p. It closes m as soon as it has read the tensors.
func (s *Saver) write(p trainer.Progress, m trainer.Snapshot) error {
	state := s.State
	state.Format, state.Progress, state.Model = formatVersion, p, m.State()
	dir, specs := Folder(s.Dir, p.Step), trainer.Tensors(s.Config, state.Heads)
	size := 3 * floatBytes * elements(specs)
	err := replaceFolder(dir, size, func(f *folder) error {
		if s.Progress != nil {
			f.progress = func(written int64) { s.Progress(written, size) }
		}
		if err := f.writeTensors(s.Config, state.Heads, s.Tokenizer, specs, m.Tensors(trainer.Weights)); err != nil {
			return err
		}
		if err := errors.Join(f.writeOptimizer(specs, m), m.Close()); err != nil {
			return err
		}
		return f.writeJSON(stateFile, state)
	})
	if err != nil {
		return fmt.Errorf("write checkpoint %s: %w", dir, err)
	}
	return nil
}

// floatBytes is the size of a float32 in bytes.
const floatBytes = 4

func elements(specs []trainer.TensorSpec) (n int64) {
	for _, s := range specs {
		n += int64(s.Size())
	}
	return n
}

// replaceFolder creates or replaces the folder dir atomically: it calls build,
// which writes the files, and then writes the manifest. need is the approximate
// size of the folder in bytes; the error of a full disk reports it.
func replaceFolder(dir string, need int64, build func(*folder) error) error {
	parent, err := store.Open(filepath.Dir(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	to, err := store.Replace(parent, filepath.Base(filepath.Clean(dir)))
	if err != nil {
		return err
	}
	defer to.Abort()
	f := &folder{to: to}
	if err = build(f); err == nil {
		err = f.writeManifest()
	}
	if space := (*store.SpaceError)(nil); errors.As(err, &space) {
		space.Need = max(space.Need, need-f.written)
	}
	if err != nil {
		return err
	}
	return to.Commit()
}

// A folder is a folder being written. files lists its complete files.
type folder struct {
	to       *store.Replacement
	files    []fileEntry
	written  int64               // bytes written, including those of failed files
	progress func(written int64) // called after each write; may be nil
}

// create writes a file with the content that write writes, syncs it, and adds
// it to f.files.
func (f *folder) create(name string, write func(io.Writer) error) error {
	file, err := f.to.Create(name)
	if err != nil {
		return err
	}
	defer file.Abort()
	w := &hashing{w: file, hash: sha256.New()}
	if f.progress != nil {
		before := f.written
		w.wrote = func(n int64) { f.progress(before + n) }
	}
	defer func() { f.written += w.n }()
	buffered := bufio.NewWriterSize(w, 1<<20)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := file.Commit(); err != nil {
		return err
	}
	f.files = append(f.files, fileEntry{name, w.n, hex.EncodeToString(w.hash.Sum(nil))})
	return nil
}

// hashing is a writer to w that counts the bytes and computes their SHA-256.
type hashing struct {
	w     io.Writer
	hash  hash.Hash
	n     int64
	wrote func(n int64) // called after each write; may be nil
}

// Write implements io.Writer.
func (h *hashing) Write(b []byte) (int, error) {
	n, err := h.w.Write(b)
	h.hash.Write(b[:n])
	h.n += int64(n)
	if h.wrote != nil {
		h.wrote(h.n)
	}
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
	return f.writeJSON(manifestFile, manifest{Format: formatVersion, Files: f.files})
}

// writeTensors writes config.json, the weights in the order of specs, and the
// files of the tokenizer if t has any.
func (f *folder) writeTensors(c trainer.Config, h trainer.Heads, t Tokenizer, specs []trainer.TensorSpec, weights iter.Seq2[trainer.Tensor, error]) error {
	var err error
	if c.Modern != nil {
		if t, err = t.withFile(); err != nil {
			return err
		}
	}
	if err := f.writeJSON(configFile, transformersConfig(c, h, t)); err != nil {
		return err
	}
	err = f.create(weightsFile, func(w io.Writer) error {
		return WriteSafetensors(w, specs, weights)
	})
	if err != nil || t.Vocab == nil && t.File == nil {
		return err
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{vocabFile, t.Vocab}, {tokenizerJSON, t.File}} {
		if file.data == nil {
			continue
		}
		if err := f.writeBytes(file.name, file.data); err != nil {
			return err
		}
	}
	for _, file := range tokenizerConfig(c, t).Files() {
		if err := f.writeBytes(file.Name, file.Data); err != nil {
			return err
		}
	}
	return nil
}

// momentKinds are the moments in optimizer.safetensors, in the order of the file.
// momentPrefix holds the prefixes of their tensor names.
var (
	momentKinds  = []trainer.Kind{trainer.FirstMoment, trainer.SecondMoment}
	momentPrefix = map[trainer.Kind]string{trainer.FirstMoment: "m.", trainer.SecondMoment: "v."}
)

// writeOptimizer writes the optimizer's moments of all parameters to one file:
// all first moments, then all second moments.
func (f *folder) writeOptimizer(specs []trainer.TensorSpec, m trainer.Snapshot) error {
	var both []trainer.TensorSpec
	for _, kind := range momentKinds {
		for _, s := range specs {
			s.Name = momentPrefix[kind] + s.Name
			both = append(both, s)
		}
	}
	return f.create(optimizerFile, func(w io.Writer) error { return WriteSafetensors(w, both, moments(m)) })
}

// moments yields all first moments of m, then all second moments, under their
// names in optimizer.safetensors.
func moments(m trainer.Snapshot) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		for _, kind := range momentKinds {
			for t, err := range m.Tensors(kind) {
				t.Name = momentPrefix[kind] + t.Name
				if !yield(t, err) || err != nil {
					return
				}
			}
		}
	}
}
