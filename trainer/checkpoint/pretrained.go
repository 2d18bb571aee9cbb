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

// File names in a folder, as in transformers.
const (
	configFile  = "config.json"
	weightsFile = "model.safetensors"
	torchFile   = "pytorch_model.bin"
	indexSuffix = ".index.json" // suffix of the index file if the weights are split into several files
)

// maxConfig limits the size of a JSON file in a folder, in bytes.
const maxConfig = 16 << 20

// A Pretrained is an open model. Close it after use.
type Pretrained struct {
	Config  trainer.Config
	Labels  []string          // class names of a classifier; nil if the files have none
	class   string            // architectures[0] of config.json
	names   map[string]string // current transformers name → name in the file
	order   []string          // keys of names, sorted
	weights weights
	moments map[trainer.Kind][]moment
	step    *int64 // completed updates; nil if the files do not contain the number
	close   func() error
	path    string // path of the weights, for error messages
}

// weights reads tensors. Its method reads the tensor with the name file in the files
// and returns it as the tensor name. It reuses the memory of dst if dst is large
// enough.
type weights interface {
	tensor(name, file string, dst []float32) (trainer.Tensor, error)
}

// A moment is a tensor of the optimizer state. name is the current transformers name of
// the weight tensor that it belongs to; file is the name of the moment in the files.
type moment struct{ name, file string }

// OpenPretrained opens a folder with config.json and weights in a form that
// transformers writes: model.safetensors, pytorch_model.bin, or either of them
// split into several files with an index.
//
// It accepts the tensor names of all of transformers' BERT classes and of older
// versions: names without the "bert." prefix (BertModel), and LayerNorm's gamma
// and beta. It ignores the masked-LM decoder, whose tensors are copies of others, and
// the integer buffers position_ids and token_type_ids. Of ModernBERT it accepts the names
// of all classes. A tensor whose shape does
// not match config.json is an error that matches [ErrDamaged].
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
	p := &Pretrained{Config: c, Labels: labelsOf(b), class: classOf(b), names: map[string]string{}, weights: w, close: w.Close, path: w.path()}
	if err = p.index(w.names()); err == nil {
		err = p.checkShapes(w)
	}
	if err != nil {
		return nil, errors.Join(damaged(fmt.Errorf("open model %s: %w", p.path, err)), w.Close())
	}
	return p, nil
}

// index fills p.names and p.order. names are the tensor names in the files. Two
// tensors with the same current name are an error.
func (p *Pretrained) index(names []string) error {
	for _, file := range names {
		name, ok := canonical(p.Config, file)
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

// checkShapes compares the shapes in the files with config.json. The number of
// classes is taken from the shape of classifier.bias.
func (p *Pretrained) checkShapes(w modelFiles) error {
	heads := trainer.Heads{MLM: true, NSP: true, Span: true}
	if p.Config.Modern != nil {
		heads = trainer.Heads{MLM: true, Span: p.class == modernSpan}
	}
	if file := p.names["classifier.bias"]; file != "" && (p.Config.Modern == nil || !heads.Span) {
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

// canonical returns the name that current versions of transformers give to the
// tensor name of a file. It returns false for a tensor to ignore: a tied
// decoder or an integer buffer.
func canonical(c trainer.Config, name string) (string, bool) {
	if c.Modern != nil {
		return canonicalModern(name)
	}
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

func canonicalModern(name string) (string, bool) {
	for _, prefix := range []string{"embeddings.", "layers.", "final_norm."} {
		if strings.HasPrefix(name, prefix) {
			return "model." + name, true
		}
	}
	return name, name != "decoder.weight" // tied
}

// Names returns the names of all tensors, sorted.
func (p *Pretrained) Names() []string { return slices.Clone(p.order) }

// Heads returns the heads whose tensors are in the files. A classifier with one
// output counts as a regression. The classes of ModernBERT give different heads the name
// "classifier"; architectures in config.json says which head a folder has.
func (p *Pretrained) Heads() (trainer.Heads, error) {
	has := func(name string) bool { return p.names[name] != "" }
	h := trainer.Heads{
		MLM: has("cls.predictions.bias") || has("decoder.bias"), NSP: has("cls.seq_relationship.weight"), Span: has("qa_outputs.weight"),
	}
	if p.Config.Modern != nil && has("classifier.bias") && p.class != modernClassifier {
		if h.Span = p.class == modernSpan; !h.Span {
			return h, p.unknownHead()
		}
		return h, nil
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

// Tensor reads the tensor name, one of [Pretrained.Names]. It reuses the memory of
// dst if dst is large enough.
func (p *Pretrained) Tensor(name string, dst []float32) (trainer.Tensor, error) {
	file, ok := p.names[name]
	if !ok {
		return trainer.Tensor{}, noTensor(name)
	}
	t, err := p.weights.tensor(name, file, dst)
	return t, p.fault(err)
}

// Tensors yields all tensors in the order of [Pretrained.Names]. Data is valid
// until the next tensor.
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

// Moments yields the optimizer's first or second moments, selected by k. Each has the
// name of its weight tensor. Only TensorFlow checkpoints written during training
// contain moments; transformers' folders do not. Data is valid until the next tensor.
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

// HasMoments reports whether the files contain the optimizer's moments.
func (p *Pretrained) HasMoments() bool { return len(p.moments[trainer.FirstMoment]) > 0 }

// Step returns the number of completed updates (TensorFlow's global_step); ok
// is false if the files do not contain it.
func (p *Pretrained) Step() (step int64, ok bool) {
	if p.step == nil {
		return 0, false
	}
	return *p.step, true
}

// unknownHead returns the error for a classifier of ModernBERT that is none of a sequence and
// none of a span.
func (p *Pretrained) unknownHead() error {
	return fmt.Errorf("%s: architectures %q: the model has a classifier, which can be used only of %q or %q", configFile, p.class, modernClassifier, modernSpan)
}

// TensorsFor yields all tensors as [Pretrained.Tensors] does, but leaves out the classifier if a
// model with the heads h has another kind of head under the same name.
func (p *Pretrained) TensorsFor(h trainer.Heads) iter.Seq2[trainer.Tensor, error] {
	if p.Config.Modern == nil || h.Span && p.class == modernSpan || h.ClassifierWidth() > 0 && p.class == modernClassifier {
		return p.Tensors()
	}
	return func(yield func(trainer.Tensor, error) bool) {
		for t, err := range p.Tensors() {
			if strings.HasPrefix(t.Name, "classifier.") {
				continue
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// Initialize loads the weights of p into m, a model with the heads h, for
// continued pre-training or fine-tuning. Tensors that are missing in the files get the
// values of [trainer.InitialWeights] with seed. The report lists these tensors, and
// the tensors in the files that the model does not have.
func (p *Pretrained) Initialize(m trainer.Model, h trainer.Heads, seed uint64) (trainer.LoadReport, error) {
	if _, err := m.Load(trainer.Weights, trainer.InitialWeights(p.Config, h, seed)); err != nil {
		return trainer.LoadReport{}, err
	}
	report, err := m.Load(trainer.Weights, p.TensorsFor(h))
	if err != nil && !errors.Is(err, ErrDamaged) { // tensors that do not fit their own configuration
		err = p.fault(err)
	}
	return report, err
}

// fault adds the path of the weights to err. Unless err comes from the file system,
// the result also matches [ErrDamaged]. It returns nil if err is nil.
func (p *Pretrained) fault(err error) error {
	if err == nil {
		return nil
	}
	return damaged(fmt.Errorf("%s: %w", p.path, err))
}

// Close closes the files.
func (p *Pretrained) Close() error { return p.close() }

// Tensors yields every tensor under its name in the file, converted to float32,
// in the order of the data. A tensor that is not floating point is an error,
// which ends the sequence. Data is valid until the next tensor.
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
