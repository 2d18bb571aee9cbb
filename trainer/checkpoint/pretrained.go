package checkpoint

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"pretext/trainer"
)

// File names in a folder, as transformers has them.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
	torchFile   = "pytorch_model.bin"
	indexSuffix = ".index.json" // of the list of several files
)

// maxConfig bounds the JSON files of a folder.
const maxConfig = 16 << 20

// A Pretrained is a model found in files. Close it after use.
type Pretrained struct {
	Config  trainer.Config
	Labels  []string          // names of a classifier's classes; nil where the files give none
	names   map[string]string // our name → name in the file
	order   []string          // our names
	weights weights
	moments map[trainer.Kind][]moment
	step    *int64 // updates done, where the files say so
	close   func() error
	path    string // of the weights, for messages
}

// weights reads tensors by their name in the files.
type weights interface {
	tensor(name, file string, dst []float32) (trainer.Tensor, error)
}

// A moment is a tensor of the optimizer: our name and that in the files.
type moment struct{ name, file string }

// OpenPretrained opens a folder with config.json and weights in one of the forms that
// transformers writes: model.safetensors, pytorch_model.bin, or either of them in
// several files with an index.
//
// It accepts the names of any of transformers' BERT classes and of older
// versions: a bare BertModel without the "bert." prefix, LayerNorm's gamma and
// beta, the decoder that repeats tied tensors (left out here), and the integer
// buffer position_ids. A tensor of another shape than config.json asks for is an
// error that matches [ErrDamaged].
func OpenPretrained(dir string) (*Pretrained, error) {
	b, err := readBounded(filepath.Join(dir, configFile), maxConfig)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	c, err := trainer.ParseConfig(b)
	if err != nil {
		return nil, fmt.Errorf("open model: %s: %w", filepath.Join(dir, configFile), damagedJSON(err))
	}
	w, err := openWeights(dir)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	p := &Pretrained{Config: c, Labels: labelsOf(b), names: map[string]string{}, weights: w, close: w.Close, path: w.path()}
	if err = p.index(w.names()); err == nil {
		err = p.checkShapes(w)
	}
	if err != nil {
		return nil, errors.Join(damaged(fmt.Errorf("open model %s: %w", p.path, err)), w.Close())
	}
	return p, nil
}

// index gives every tensor of the files its canonical name.
func (p *Pretrained) index(names []string) error {
	for _, file := range names {
		name, ok := canonical(file)
		if !ok {
			continue
		}
		if other, twice := p.names[name]; twice {
			return fmt.Errorf("tensors %q and %q are both %q", other, file, name)
		}
		p.names[name] = file
		p.order = append(p.order, name)
	}
	slices.Sort(p.order)
	return nil
}

// checkShapes compares the shapes of the files with those that the configuration
// gives. The width of a classifier is that of its own tensors.
func (p *Pretrained) checkShapes(w modelFiles) error {
	heads := trainer.Heads{MLM: true, NSP: true, Span: true}
	if file := p.names["classifier.bias"]; file != "" {
		if shape := w.shape(file); len(shape) == 1 && shape[0] > 0 && shape[0] <= trainer.MaxLabels {
			heads.Labels = int(shape[0])
		}
	}
	for _, s := range trainer.Tensors(p.Config, heads) {
		file := p.names[s.Name]
		if file == "" {
			continue
		}
		shape := w.shape(file)
		if !slices.EqualFunc(shape, s.Shape, func(a int64, b int) bool { return a == int64(b) }) {
			return fmt.Errorf("tensor %q has the shape %v, %s asks for %v", file, shape, configFile, s.Shape)
		}
	}
	return nil
}

// canonical returns transformers' present name of a tensor; false for one that
// holds nothing of its own.
func canonical(name string) (string, bool) {
	switch name {
	case "cls.predictions.decoder.weight", "cls.predictions.decoder.bias": // tied
		return "", false
	}
	if strings.HasSuffix(name, "embeddings.position_ids") || strings.HasSuffix(name, "embeddings.token_type_ids") {
		return "", false
	}
	if s, ok := strings.CutSuffix(name, "LayerNorm.gamma"); ok {
		name = s + "LayerNorm.weight"
	}
	if s, ok := strings.CutSuffix(name, "LayerNorm.beta"); ok {
		name = s + "LayerNorm.bias"
	}
	for _, prefix := range []string{"embeddings.", "encoder.", "pooler."} {
		if strings.HasPrefix(name, prefix) {
			return "bert." + name, true
		}
	}
	return name, true
}

// Names returns the names of all tensors, sorted.
func (p *Pretrained) Names() []string { return slices.Clone(p.order) }

// Heads returns the heads whose tensors are in the files. A classifier of one
// output is taken for a regression.
func (p *Pretrained) Heads() (trainer.Heads, error) {
	has := func(name string) bool { return p.names[name] != "" }
	h := trainer.Heads{
		MLM: has("cls.predictions.bias"), NSP: has("cls.seq_relationship.weight"), Span: has("qa_outputs.weight"),
	}
	if has("classifier.bias") {
		t, err := p.Tensor("classifier.bias", nil)
		if err != nil {
			return h, err
		}
		if len(t.Data) == 1 {
			h.Regression = true
		} else {
			h.Labels = len(t.Data)
		}
	}
	return h, nil
}

// Tensor reads one tensor by transformers' name, using dst's memory if it is
// large enough.
func (p *Pretrained) Tensor(name string, dst []float32) (trainer.Tensor, error) {
	file, ok := p.names[name]
	if !ok {
		return trainer.Tensor{}, fmt.Errorf("tensor %q: not in the file", name)
	}
	t, err := p.weights.tensor(name, file, dst)
	return t, p.fault(err)
}

// Tensors yields all tensors by transformers' names, sorted. Data is valid
// until the next is asked for.
func (p *Pretrained) Tensors() iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, name := range p.order {
			t, err := p.Tensor(name, data)
			if !yield(t, err) || err != nil {
				return
			}
			data = t.Data
		}
	}
}

// Moments yields the optimizer's first or second moments by the names of their
// weights: those of a TensorFlow checkpoint that was left by training. There are
// none in transformers' folders. Data is valid until the next is asked for.
func (p *Pretrained) Moments(k trainer.Kind) iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, m := range p.moments[k] {
			t, err := p.weights.tensor(m.name, m.file, data)
			if !yield(t, p.fault(err)) || err != nil {
				return
			}
			data = t.Data
		}
	}
}

// HasMoments tells whether the files hold the optimizer's moments.
func (p *Pretrained) HasMoments() bool { return len(p.moments[trainer.FirstMoment]) > 0 }

// Step returns the number of updates the files say were done (TensorFlow's
// global_step).
func (p *Pretrained) Step() (step int64, ok bool) {
	if p.step == nil {
		return 0, false
	}
	return *p.step, true
}

// Initialize loads a model with what the files hold and, where they have
// nothing, with initial weights: the start of continued pre-training or of
// fine-tuning. The report says which tensors were missing in the files and which
// of the files' the model does not have.
func (p *Pretrained) Initialize(m trainer.Model, h trainer.Heads, seed uint64) (trainer.LoadReport, error) {
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(p.Config, h, seed)); err != nil {
		return trainer.LoadReport{}, err
	}
	report, err := m.Load(trainer.Weights, p.Tensors())
	if err != nil && !errors.Is(err, ErrDamaged) { // tensors that do not fit the configuration beside them
		err = p.fault(err)
	}
	return report, err
}

// fault says which file an error is about.
func (p *Pretrained) fault(err error) error {
	if err == nil {
		return nil
	}
	return damaged(fmt.Errorf("%s: %w", p.path, err))
}

// Close closes the files.
func (p *Pretrained) Close() error { return p.close() }

// Tensors yields every floating-point tensor of a file under its own name, in
// the order of the data. Data is valid until the next is asked for.
func (s *Safetensors) Tensors() iter.Seq2[trainer.Tensor, error] {
	return func(yield func(trainer.Tensor, error) bool) {
		var data []float32
		for _, e := range s.Entries {
			values, err := s.Float32s(e.Name, data)
			if !yield(trainer.Tensor{Name: e.Name, Shape: ints(e.Shape), Data: values}, err) || err != nil {
				return
			}
			data = values
		}
	}
}
