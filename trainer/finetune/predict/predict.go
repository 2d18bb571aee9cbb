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

// A Job is a request, converted to the sequences to compute. Call Take once for each
// sequence, in order, with the result of [finetune.Values]. Then Result returns the
// answer to the request.
type Job interface {
	finetune.Examples
	Take(i int, values []float32) error
	Result() any
	// Masked returns the number of masked tokens in sequence i. The model computes
	// one logit per vocabulary entry for each of them.
	Masked(i int) int
}

// MaxMasks is the maximum number of masks in a request.
const MaxMasks = 64

// An InputError reports why a request cannot be computed.
type InputError struct {
	Reason  string
	TooLong bool // the request is too long; a shorter one may succeed
}

func (e *InputError) Error() string { return e.Reason }

func wrong(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...)}
}

func tooLong(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), TooLong: true}
}

// Settings configure a [Predictor].
type Settings struct {
	Tokenizer *tokenize.Tokenizer
	Config    trainer.Config
	Heads     trainer.Heads // the predictor uses one of them
	Labels    []string      // class names; nil: LABEL_0 and so on

	MaxSeqLength   int // maximum tokens of a sequence; 0: the model's positions
	DocStride      int // distance between the starts of windows on a long text, in tokens; 0: as in run_squad.py
	MaxQueryLength int // maximum tokens of a question; 0: as in run_squad.py
	Negatives      bool
	Answers        squad.PredictOptions // zero: the defaults
	MaxSequences   int                  // maximum sequences of a request; 0: 256
}

// A Task is a kind of request that a model can answer.
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

// defaultMaxSequences limits the work for one request.
const defaultMaxSequences = 256

// New returns a predictor, or an error if settings contradict each other.
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

// windowsOf adapts the window sizes of run_squad.py to a model with fewer
// positions.
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

// Task returns the kind of request that the model can answer.
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

// check returns an error if the model has no head for the task, or if a text is not
// UTF-8.
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

// encoder takes an encoder from the pool. Call giveBack after use.
func (p *Predictor) encoder() (enc *tokenize.Encoder, giveBack func()) {
	enc = p.encoders.Get().(*tokenize.Encoder)
	return enc, func() { p.encoders.Put(enc) }
}
