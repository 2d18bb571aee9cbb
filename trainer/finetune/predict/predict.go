package predict

import (
	"errors"
	"fmt"
	"sync"
	"unicode/utf8"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/squad"
)

// A Job is a request in sequences. Take is called once for each, in order, with
// what [finetune.Values] gives; Result is what came of it.
type Job interface {
	finetune.Examples
	Take(i int, values []float32) error
	Result() any
	// Masked returns the number of masked tokens of sequence i, each of which
	// takes as many logits as the vocabulary has tokens.
	Masked(i int) int
}

// MaxMasks is the most masks of a request.
const MaxMasks = 64

// An InputError says why a request cannot be computed.
type InputError struct {
	Reason  string
	TooLong bool // a shorter one could be
}

func (e *InputError) Error() string { return e.Reason }

func wrong(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...)}
}

func tooLong(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), TooLong: true}
}

// Settings say what a predictor works with.
type Settings struct {
	Tokenizer *tokenize.Tokenizer
	Config    trainer.Config
	Heads     trainer.Heads // one of them is used
	Labels    []string      // names of a classifier's classes; nil: LABEL_0 and so on

	MaxSeqLength   int // most tokens of a sequence; 0: the model's positions
	DocStride      int // of windows on a long text; 0: run_squad.py's
	MaxQueryLength int // likewise
	Negatives      bool
	Answers        squad.PredictOptions // zero: the defaults
	MaxSequences   int                  // most sequences of a request; 0: 256
}

// A Task names what a model can be asked for.
type Task string

// The tasks.
const (
	TaskFillMask Task = "fill-mask"
	TaskAnswer   Task = "answer"
	TaskClassify Task = "classify"
)

// A Predictor turns requests into jobs.
type Predictor struct {
	s        Settings
	windows  squad.Options
	encoders sync.Pool // of *tokenize.Encoder: each holds 2 MiB
}

// defaultMaxSequences bounds the work of one request.
const defaultMaxSequences = 256

// New returns a predictor.
func New(s Settings) (*Predictor, error) {
	if s.MaxSeqLength == 0 {
		s.MaxSeqLength = s.Config.MaxPositions
	}
	if s.MaxSeqLength < 8 || s.MaxSeqLength > s.Config.MaxPositions {
		return nil, fmt.Errorf("max_seq_length %d: must be from 8 to the model's %d positions", s.MaxSeqLength, s.Config.MaxPositions)
	}
	if n := s.Tokenizer.Vocab().Len(); n != s.Config.VocabSize {
		return nil, fmt.Errorf("the vocabulary has %d tokens, the model's vocab_size is %d", n, s.Config.VocabSize)
	}
	if s.Answers == (squad.PredictOptions{}) {
		s.Answers = squad.DefaultPredictOptions()
	}
	if s.MaxSequences == 0 {
		s.MaxSequences = defaultMaxSequences
	}
	p := &Predictor{s: s, windows: windowsOf(s)}
	p.encoders.New = func() any { return s.Tokenizer.NewEncoder() }
	if p.Task() == "" {
		return nil, errors.New("the model has no head that predicts: neither masked LM nor one of fine-tuning")
	}
	if err := errors.Join(s.Answers.Validate(), p.windows.Validate()); err != nil && s.Heads.Span {
		return nil, err
	}
	return p, nil
}

// windowsOf fits run_squad.py's windows to a model that takes less.
func windowsOf(s Settings) squad.Options {
	o := squad.DefaultOptions()
	o.MaxSeqLength = s.MaxSeqLength
	if s.MaxQueryLength == 0 {
		s.MaxQueryLength = min(o.MaxQueryLength, s.MaxSeqLength/2)
	}
	if s.DocStride == 0 {
		s.DocStride = min(o.DocStride, max(1, s.MaxSeqLength/3))
	}
	o.MaxQueryLength, o.DocStride, o.Negatives = s.MaxQueryLength, s.DocStride, s.Negatives
	return o
}

// Task returns what the model can be asked for.
func (p *Predictor) Task() Task {
	switch h := p.s.Heads; {
	case h.Span:
		return TaskAnswer
	case h.ClassifierWidth() > 0:
		return TaskClassify
	case h.MLM:
		return TaskFillMask
	}
	return ""
}

// check refuses a text that is not UTF-8, and a task the model is not for.
func (p *Predictor) check(task Task, texts ...string) error {
	if p.Task() != task {
		return wrong("the model is for %s, not for %s", p.Task(), task)
	}
	for _, t := range texts {
		if !utf8.ValidString(t) {
			return wrong("the text is not UTF-8")
		}
	}
	return nil
}

// encoder lends an encoder.
func (p *Predictor) encoder() (enc *tokenize.Encoder, giveBack func()) {
	enc = p.encoders.Get().(*tokenize.Encoder)
	return enc, func() { p.encoders.Put(enc) }
}
