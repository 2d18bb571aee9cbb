package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pretext/trainer"
	"pretext/trainer/checkpoint/torchfile"
)

// modelFiles reads the weights of a model folder from its opened files. There may be one
// file or several.
type modelFiles interface {
	weights
	names() []string
	shape(file string) []int64 // shape of the tensor with the name file in the files
	path() string              // for error messages
	Close() error
}

// openWeights opens the weights in the folder dir. Of several forms, it takes the
// first in this order, as transformers does: model.safetensors, its index,
// pytorch_model.bin, its index.
func openWeights(dir string) (modelFiles, error) {
	for _, name := range []string{weightsFile, weightsFile + indexSuffix, torchFile, torchFile + indexSuffix} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if strings.HasSuffix(name, indexSuffix) {
			return openShards(path)
		}
		return openWeightsFile(path)
	}
	return nil, noWeights(dir)
}

// openWeightsFile opens a weights file: written by torch.save if the name ends
// in .bin, otherwise safetensors.
func openWeightsFile(path string) (modelFiles, error) {
	if strings.HasSuffix(path, ".bin") {
		f, err := torchfile.Open(path)
		if err != nil {
			return nil, damagedWeights(err)
		}
		t := &torchWeights{File: f, name: path, byName: map[string]*torchfile.Tensor{}}
		for _, tensor := range f.Tensors {
			t.byName[tensor.Name] = tensor
		}
		return t, nil
	}
	s, err := OpenSafetensors(path)
	if err != nil {
		return nil, err
	}
	return safeWeights{s}, nil
}

// damagedWeights makes err match [ErrDamaged], unless err is about an intact file in
// an unsupported format or comes from the file system.
func damagedWeights(err error) error {
	if errors.Is(err, torchfile.ErrFormat) {
		return err
	}
	return damaged(err)
}

// noWeights returns the error for a folder without readable weights. If it has
// weights of another framework, the error explains how to convert them.
func noWeights(dir string) error {
	const save = `save it with transformers as model.safetensors: AutoModel….from_pretrained(DIR%s).save_pretrained(DIR)`
	for _, other := range []struct{ file, what, how string }{
		{"tf_model.h5", "Keras", ", from_tf=True"}, {"flax_model.msgpack", "Flax", ", from_flax=True"}, {"model.onnx", "ONNX", ""},
	} {
		if _, err := os.Stat(filepath.Join(dir, other.file)); err == nil {
			return fmt.Errorf("%s: only %s, weights of %s, which are not read here: "+save, dir, other.file, other.what, other.how)
		}
	}
	parts, _ := filepath.Glob(filepath.Join(dir, "*-of-*"))
	for _, p := range parts {
		if ext := filepath.Ext(p); ext == ".safetensors" || ext == ".bin" {
			return damaged(fmt.Errorf("%s: a part of the weights, but no %s or %s beside it, which lists the parts: the folder is not complete",
				p, weightsFile+indexSuffix, torchFile+indexSuffix))
		}
	}
	return fmt.Errorf("%s: no weights: neither %s nor %s, whole or in parts (with %s)", dir, weightsFile, torchFile, indexSuffix)
}

// safeWeights implements modelFiles for a safetensors file.
type safeWeights struct{ *Safetensors }

func (w safeWeights) path() string { return w.Safetensors.path }

func (w safeWeights) names() []string {
	names := make([]string, len(w.Entries))
	for i, e := range w.Entries {
		names[i] = e.Name
	}
	return names
}

func (w safeWeights) shape(file string) []int64 {
	e, _ := w.Lookup(file)
	return e.Shape
}

func (w safeWeights) tensor(name, file string, dst []float32) (trainer.Tensor, error) {
	data, err := w.Float32s(file, dst)
	if err != nil {
		return trainer.Tensor{}, err
	}
	return trainer.Tensor{Name: name, Shape: ints(w.shape(file)), Data: data}, nil
}

func ints(shape []int64) []int {
	out := make([]int, len(shape))
	for i, n := range shape {
		out[i] = int(n)
	}
	return out
}

// torchWeights implements modelFiles for a file written by torch.save.
type torchWeights struct {
	*torchfile.File
	name   string
	byName map[string]*torchfile.Tensor
}

func (w *torchWeights) path() string { return w.name }

func (w *torchWeights) names() []string { return slices.Sorted(maps.Keys(w.byName)) }

func (w *torchWeights) shape(file string) []int64 { return w.byName[file].Shape }

func (w *torchWeights) tensor(name, file string, dst []float32) (trainer.Tensor, error) {
	t, ok := w.byName[file]
	if !ok {
		return trainer.Tensor{}, noTensor(file)
	}
	convert := floatOf(DType(t.DType))
	if convert == nil {
		return trainer.Tensor{}, fmt.Errorf("tensor %q: element type %s is not floating point", file, t.DType)
	}
	dst = slices.Grow(dst[:0], int(t.Elements()))[:t.Elements()]
	err := w.Read(t, func(i int64, b []byte) { dst[i] = convert(b) })
	return trainer.Tensor{Name: name, Shape: ints(t.Shape), Data: dst}, err
}

// shards implements modelFiles for weights that are split into several files.
type shards struct {
	index string                // path of the index
	files map[string]modelFiles // file name → open file
	where map[string]modelFiles // tensor name → file that contains the tensor
}

// maxShards limits the number of files of a model, because all are open at
// once.
const maxShards = 1000

// openShards opens the files listed in the index file at path, {"weight_map":
// {tensor: file}}. All files must be in the folder of the index and contain the
// tensors listed for them.
func openShards(path string) (_ *shards, err error) {
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	b, err := readBounded(path, maxConfig)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &index); err != nil {
		return nil, damaged(fmt.Errorf("%s: %w", path, err))
	}
	s := &shards{index: path, files: map[string]modelFiles{}, where: map[string]modelFiles{}}
	defer func() {
		if err != nil {
			err = errors.Join(damagedWeights(err), s.Close())
		}
	}()
	if len(index.Map) == 0 {
		return nil, fmt.Errorf("%s: no weight_map, which lists the files of the tensors", path)
	}
	for _, tensor := range slices.Sorted(maps.Keys(index.Map)) {
		name := index.Map[tensor]
		if s.files[name] == nil {
			if err := s.open(name); err != nil {
				return nil, err
			}
		}
		if s.where[tensor] != s.files[name] {
			return nil, fmt.Errorf("%s: tensor %q is not in %s", path, tensor, name)
		}
	}
	return s, nil
}

// open opens a file listed in the index and adds its tensors to s.where.
func (s *shards) open(name string) error {
	ext := filepath.Ext(strings.TrimSuffix(filepath.Base(s.index), indexSuffix))
	if name != filepath.Base(name) || filepath.Ext(name) != ext || len(s.files) == maxShards {
		return fmt.Errorf("%s: file %q: must be a %s file beside the index, one of at most %d", s.index, name, ext, maxShards)
	}
	path := filepath.Join(filepath.Dir(s.index), name)
	f, err := openWeightsFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(fmt.Errorf("%s: missing, %s lists it: the folder is not complete", path, filepath.Base(s.index)))
	}
	if err != nil {
		return err
	}
	s.files[name] = f
	for _, tensor := range f.names() {
		if other := s.where[tensor]; other != nil {
			return fmt.Errorf("tensor %q is in two files, %s and %s", tensor, other.path(), path)
		}
		s.where[tensor] = f
	}
	return nil
}

func (s *shards) path() string { return s.index }

func (s *shards) names() []string { return slices.Sorted(maps.Keys(s.where)) }

func (s *shards) shape(file string) []int64 { return s.where[file].shape(file) }

func (s *shards) tensor(name, file string, dst []float32) (trainer.Tensor, error) {
	f, ok := s.where[file]
	if !ok {
		return trainer.Tensor{}, noTensor(file)
	}
	t, err := f.tensor(name, file, dst)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.Base(f.path()), err)
	}
	return t, err
}

func (s *shards) Close() error {
	var errs []error
	for _, f := range s.files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
