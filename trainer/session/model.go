package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/store"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
	"pretext/trainer/loader"
)

// ModelFiles is a saved model, ours or third-party. Close it after use.
type ModelFiles struct {
	*checkpoint.Pretrained
	Folder string
	Phase  *checkpoint.Checkpoint // nil: not a checkpoint of ours
}

// OpenModel opens a folder of transformers, a checkpoint or a run of ours
// (its newest checkpoint), or a TensorFlow checkpoint by its prefix.
func OpenModel(path string) (m ModelFiles, err error) {
	if _, err := os.Stat(path + ".index"); err == nil {
		p, err := checkpoint.OpenTensorFlow(path)
		return ModelFiles{Pretrained: p, Folder: filepath.Dir(path)}, unusable(err)
	}
	m.Folder = path
	newest, err := checkpoint.Newest(path)
	newer := (*failure.Newer)(nil)
	switch there, globErr := filepath.Glob(filepath.Join(path, "step-*")); {
	case err == nil:
		m.Folder = newest.Dir
	case errors.As(err, &newer):
		return m, err
	case errors.Is(err, checkpoint.ErrNone) && globErr == nil && len(there) > 0:
		return m, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if _, err := os.Stat(filepath.Join(m.Folder, "trainer.json")); err == nil {
		if m.Phase, err = checkpoint.Open(m.Folder); err != nil {
			return m, err
		}
	}
	if err := checkModel(m.Folder); err != nil {
		return m, err
	}
	m.Pretrained, err = checkpoint.OpenPretrained(m.Folder)
	return m, unusable(err)
}

// unusable returns err, an error of opening a model, as a usage error, unless
// the files are corrupt or the operating system failed.
func unusable(err error) error {
	var path *fs.PathError
	if err == nil || errors.Is(err, checkpoint.ErrDamaged) || errors.As(err, &path) {
		return err
	}
	return failure.Usage(err)
}

// A start is the initial model of a run.
type start struct {
	config trainer.Config
	init   *ModelFiles // nil: random weights
}

func (s *start) Close() error {
	if s.init == nil {
		return nil
	}
	return s.init.Close()
}

// newStart opens the model that --model and --init name.
func newStart(o *ModelOptions, vocabSize int) (*start, error) {
	if o.Init == "" && o.Model == "" {
		return nil, usagef("no model: give --model %s or a config.json, or --init FOLDER", strings.Join(trainer.PresetNames(), "|"))
	}
	s := &start{}
	if o.Init != "" {
		m, err := OpenModel(o.Init)
		if err != nil {
			return nil, fmt.Errorf("--init: %w", err)
		}
		s.init, s.config = &m, m.Config
	}
	if o.Model == "" {
		return s, nil
	}
	config, err := NamedConfig(o.Model, vocabSize)
	if err == nil && s.init != nil {
		if diff := configDiff(s.config, config); diff != "" {
			err = usagef("--model %s is not the model of --init %s: %s", o.Model, o.Init, diff)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.config = config
	return s, nil
}

// loadInitial loads the weights of init, the model at the path given, into m. If init
// is nil, it loads random initial weights. It logs the tensors that init lacks.
func loadInitial(m trainer.Model, init *ModelFiles, given string, c trainer.Config, heads trainer.Heads, seed uint64, log io.Writer) error {
	if init == nil {
		_, err := m.Load(trainer.Weights, trainer.InitialWeights(c, heads, seed))
		return err
	}
	report, err := init.Initialize(m, heads, seed)
	if err != nil {
		return err
	}
	for _, name := range report.Missing {
		fmt.Fprintf(log, "%s is not in %s and is newly initialized\n", name, given)
	}
	return nil
}

// Load loads the weights into model, which has the heads h. If the files lack one of the
// model's tensors, it returns a usage error that names path.
func (m ModelFiles) Load(model trainer.Model, h trainer.Heads, path string) error {
	report, err := model.Load(trainer.Weights, m.TensorsFor(h))
	if err != nil {
		return err
	}
	if len(report.Missing) > 0 {
		return usagef("%s was not trained for this task: it lacks %q", path, report.Missing)
	}
	return nil
}

// isConfig returns a usage error if raw is valid JSON but not the configuration of a
// model. Without this check any JSON object would configure BERT-base, because every
// field has a default.
func isConfig(path string, raw []byte) error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil // parsing it later reports the error
	}
	for _, name := range []string{"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size", "model_type"} {
		if _, ok := fields[name]; ok {
			return nil
		}
	}
	return usagef("--model %s: JSON without hidden_size, vocab_size and so on: give a config.json", path)
}

// NamedConfig returns the preset with this name, or reads the configuration
// file at this path.
func NamedConfig(name string, vocabSize int) (trainer.Config, error) {
	if slices.Contains(trainer.PresetNames(), name) {
		return trainer.Preset(name, vocabSize)
	}
	if err := checkConfig(name); err != nil {
		return trainer.Config{}, err
	}
	b, err := store.ReadSmall(context.Background(), name, store.Settings)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, "./\\") {
		return trainer.Config{}, usagef("--model %q: must be one of %s or a configuration file", name, strings.Join(trainer.PresetNames(), ", "))
	}
	if err != nil {
		return trainer.Config{}, err
	}
	parse := trainer.ParseConfig
	if filepath.Base(name) == "bert_config.json" {
		parse = trainer.ParseGoogleConfig
	}
	if err := isConfig(name, b); err != nil {
		return trainer.Config{}, err
	}
	c, err := parse(b)
	if err != nil {
		return c, usagef("--model %s: %w", name, err)
	}
	return c, nil
}

// withDropout returns a configuration with the dropout of the options.
func (o *ModelOptions) withDropout(c trainer.Config) trainer.Config {
	if o.Dropout != nil {
		c.HiddenDropout, c.AttentionDropout = *o.Dropout, *o.Dropout
		if c.Modern != nil {
			m := *c.Modern
			m.OutputDropout, m.FeedForwardDropout = *o.Dropout, *o.Dropout
			c.Modern = &m
		}
	}
	return c
}

// warnOf logs a warning if transformers before version 5 cannot load a model.
func warnOf(c trainer.Config, log io.Writer) {
	if warning := c.Warning(); warning != "" {
		fmt.Fprintln(log, "warning:", warning)
	}
}

// configDiff lists the settings in which two models differ; "" if none.
func configDiff(was, is trainer.Config) string {
	if name := map[bool]string{false: "BERT", true: "ModernBERT"}; (was.Modern == nil) != (is.Modern == nil) {
		return fmt.Sprintf("%s there, %s here", name[was.Modern != nil], name[is.Modern != nil])
	}
	a, b := settings(was), settings(is)
	var diff []string
	for _, key := range slices.Sorted(maps.Keys(a)) {
		if !reflect.DeepEqual(a[key], b[key]) {
			diff = append(diff, fmt.Sprintf("%s %v there, %v here", key, a[key], b[key]))
		}
	}
	return strings.Join(diff, ", ")
}

// settings returns the fields of a configuration by their JSON names.
func settings(c trainer.Config) map[string]any {
	p := c.PooledDropout()
	c.ClassifierDropout = &p
	if c.Activation.Tanh() {
		c.Activation = trainer.GELUNew // two names of the same function
	}
	b, err := json.Marshal(c.Keys())
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		panic("BUG: " + err.Error())
	}
	return m
}

// Fits returns a usage error if a model cannot be trained or evaluated on a corpus,
// because the sizes of their vocabularies differ or examples are longer than the
// model's positions. For records without a manifest it checks only the first
// examples.
func Fits(ctx context.Context, c trainer.Config, data *Corpus) error {
	if n := data.vocab.Len(); n != c.VocabSize {
		return usagef("%s: its vocabulary has %d tokens, the model's vocab_size is %d: the data must be made with the model's vocab.txt", data.path, n, c.VocabSize)
	}
	longest := data.shards.MaxSeqLength()
	if longest == 0 && !data.shards.Form().Documents() {
		err := data.sample(ctx, func(r loader.Record) error {
			longest = max(longest, r.Example.Tokens())
			return nil
		})
		if err != nil {
			return err
		}
	}
	if longest > c.MaxPositions {
		return usagef("%s: its examples have up to %d tokens, the model %d positions: make the data with --max-seq-length %d, or give a model with more max_position_embeddings",
			data.path, longest, c.MaxPositions, c.MaxPositions)
	}
	return nil
}
