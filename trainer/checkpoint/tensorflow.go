package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/internal/store"
	"pretext/trainer"
)

// OpenTensorFlow opens a checkpoint of google-research/bert. prefix is the path
// without ".index" ("…/bert_model.ckpt"); bert_config.json must be in the same
// folder. Kernels are transposed when they are read. [Pretrained.Moments] reads
// the optimizer's moments (adam_m, adam_v), [Pretrained.Step] returns the
// global step; other variables are ignored.
func OpenTensorFlow(prefix string) (*Pretrained, error) {
	p, err := openTensorFlow(prefix)
	if err != nil {
		return nil, fmt.Errorf("open TensorFlow checkpoint %s: %w", prefix, err)
	}
	return p, nil
}

func openTensorFlow(prefix string) (*Pretrained, error) {
	b, err := readBounded(filepath.Join(filepath.Dir(prefix), "bert_config.json"), maxConfig)
	if err != nil {
		return nil, err
	}
	c, err := trainer.ParseGoogleConfig(b)
	if err != nil {
		return nil, fmt.Errorf("bert_config.json: %w", damagedJSON(err))
	}
	index, err := readBounded(prefix+".index", maxIndex)
	if err != nil {
		return nil, err
	}
	entries, err := parseBundleIndex(index)
	if err != nil {
		return nil, damaged(fmt.Errorf("%s.index: %w", filepath.Base(prefix), err))
	}
	w := &tensorFlowWeights{prefix: prefix, entries: map[string]bundleEntry{}, files: map[uint64]*os.File{}}
	p := &Pretrained{Config: c, names: map[string]string{}, weights: w, close: w.close, path: prefix}
	if err := w.index(p, entries); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	if p.step, err = w.readStep(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return p, nil
}

// Suffixes of the variables that hold the moments of AdamWeightDecayOptimizer.
const (
	firstSlot  = "/adam_m"
	secondSlot = "/adam_v"
)

// index selects the entries of the model's weights, their moments and the
// global step, and adds the names of weights and moments to p.
func (w *tensorFlowWeights) index(p *Pretrained, entries []bundleEntry) error {
	p.moments = map[trainer.Kind][]moment{}
	for _, s := range trainer.Tensors(p.Config, trainer.Heads{MLM: true, NSP: true, Span: true, Labels: 2}) {
		if ok, err := w.add(entries, s.Google); err != nil {
			return err
		} else if !ok {
			continue
		}
		p.names[s.Name] = s.Google
		p.order = append(p.order, s.Name)
		for kind, slot := range map[trainer.Kind]string{trainer.FirstMoment: firstSlot, trainer.SecondMoment: secondSlot} {
			ok, err := w.add(entries, s.Google+slot)
			if err != nil {
				return err
			}
			if ok {
				p.moments[kind] = append(p.moments[kind], moment{s.Name, s.Google + slot})
			}
		}
	}
	slices.Sort(p.order)
	return w.addStep(entries)
}

// add adds the variable name to w.entries. It returns false if the checkpoint
// does not have the variable.
func (w *tensorFlowWeights) add(entries []bundleEntry, name string) (bool, error) {
	e, ok := findVariable(entries, name)
	if !ok {
		return false, nil
	}
	if err := e.check(); err != nil {
		return false, err
	}
	if e.dtype != dtFloat || e.sliced {
		return false, fmt.Errorf("variable %q: only whole float32 variables can be read", name)
	}
	w.entries[name] = e
	return true, nil
}

// addStep adds the global step, a single int64, to w.entries if the checkpoint
// has it.
func (w *tensorFlowWeights) addStep(entries []bundleEntry) error {
	e, ok := findVariable(entries, globalStep)
	if !ok {
		return nil
	}
	if e.dtype != dtInt64 || e.size != 8 || e.offset < 0 || e.sliced {
		return fmt.Errorf("variable %q: not a single int64", globalStep)
	}
	w.entries[globalStep] = e
	return nil
}

// readStep returns the global step, or nil if the checkpoint does not have it.
func (w *tensorFlowWeights) readStep() (*int64, error) {
	if _, ok := w.entries[globalStep]; !ok {
		return nil, nil
	}
	b, err := w.raw(globalStep)
	if err != nil {
		return nil, err
	}
	step := int64(binary.LittleEndian.Uint64(b))
	return &step, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s: larger than %d bytes", path, most)
	}
	return b, err
}

// tensorFlowWeights reads variables from the data files.
type tensorFlowWeights struct {
	prefix  string
	entries map[string]bundleEntry
	files   map[uint64]*os.File // by shard number
}

// open opens the data files that contain the model's variables. File names end in the
// number of data files, so open first counts the files.
func (w *tensorFlowWeights) open() error {
	found, err := filepath.Glob(escapeGlob.Replace(w.prefix) + ".data-?????-of-?????")
	if err != nil {
		return err
	}
	for _, e := range w.entries {
		if w.files[e.shard] != nil {
			continue
		}
		name := fmt.Sprintf("%s.data-%05d-of-%05d", w.prefix, e.shard, len(found))
		f, err := store.OpenRegular(name)
		if err != nil {
			return errors.Join(err, w.close())
		}
		w.files[e.shard] = f
	}
	return nil
}

// escapeGlob escapes the special characters of [filepath.Glob] in a path.
var escapeGlob = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, `\`, `\\`)

func (w *tensorFlowWeights) close() error {
	var errs []error
	for _, f := range w.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

func (w *tensorFlowWeights) tensor(name, file string, dst []float32) (trainer.Tensor, error) {
	raw, err := w.raw(file)
	if err != nil {
		return trainer.Tensor{}, err
	}
	return decodeVariable(name, raw, w.entries[file].shape, dst)
}

// raw reads the bytes of a variable and verifies their checksum.
func (w *tensorFlowWeights) raw(name string) ([]byte, error) {
	e := w.entries[name]
	f := w.files[e.shard]
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if e.offset > info.Size() || e.size > info.Size()-e.offset {
		return nil, fmt.Errorf("variable %q: its data file ends before it", name)
	}
	raw := make([]byte, e.size)
	if _, err := f.ReadAt(raw, e.offset); err != nil {
		return nil, fmt.Errorf("read variable %q: %w", name, err)
	}
	if crc32.Checksum(raw, castagnoli) != unmask(e.crc) {
		return nil, fmt.Errorf("variable %q: checksum does not match", name)
	}
	return raw, nil
}

// decodeVariable returns a variable as the tensor name, given its bytes raw and its
// shape stored. It transposes matrices that google-research/bert stores transposed.
func decodeVariable(name string, raw []byte, stored []int64, dst []float32) (trainer.Tensor, error) {
	n := len(raw) / 4
	dst = slices.Grow(dst[:0], n)[:n]
	at := func(i int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])) }
	shape := ints(stored)
	if _, transpose := trainer.GoogleName(name); !transpose {
		for i := range dst {
			dst[i] = at(i)
		}
		return trainer.Tensor{Name: name, Shape: shape, Data: dst}, nil
	}
	if len(shape) != 2 {
		return trainer.Tensor{}, fmt.Errorf("tensor %q: stored with shape %v, not a matrix", name, shape)
	}
	in, out := shape[0], shape[1]
	for i := range in {
		for o := range out {
			dst[o*in+i] = at(i*out + o)
		}
	}
	return trainer.Tensor{Name: name, Shape: []int{out, in}, Data: dst}, nil
}
