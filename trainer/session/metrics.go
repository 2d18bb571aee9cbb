package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"pretext/internal/store"
	"pretext/trainer"
	"pretext/trainer/checkpoint"
)

// MetricsFile, in a run's output directory, holds a line of JSON for each step
// and each evaluation, in the order of steps.
const MetricsFile = "metrics.jsonl"

// A trainLine is the line of a step in the metrics.
type trainLine struct {
	Step        int64   `json:"step"`     // steps done
	Position    int64   `json:"position"` // examples seen
	Loss        Number  `json:"loss"`
	MLMLoss     Number  `json:"mlm_loss"`
	NSPLoss     *Number `json:"nsp_loss,omitempty"` // null: no example had a label; absent for ModernBERT
	MLMAccuracy Number  `json:"mlm_accuracy"`
	NSPAccuracy *Number `json:"nsp_accuracy,omitempty"`
	Rate        Number  `json:"learning_rate"`
	GradNorm    Number  `json:"grad_norm"` // before clipping
	LossScale   Number  `json:"loss_scale"`
	Skipped     bool    `json:"skipped"`
	Tokens      int64   `json:"tokens"`
	Speed       Number  `json:"tokens_per_second"`
	LeftOut     int64   `json:"left_out,omitempty"`  // number of corrupt examples that the step skipped
	Saturated   *Number `json:"saturated,omitempty"` // only in fp8: elements that became the largest number, over all ranks

	Spent float64 `json:"budget_spent_seconds,omitempty"` // with a budget: time of all steps so far
}

// A damageLine names a corrupt example that a step skipped, or, as step 0, an
// unreadable end of a file.
type damageLine struct {
	Step   int64  `json:"step"`
	Damage Damage `json:"damage"`
}

// An EvalLine is the line of an evaluation in the metrics.
type EvalLine struct {
	Step            int64   `json:"step"`
	Examples        int64   `json:"eval_examples"`
	Loss            Number  `json:"eval_loss"`
	MLMLoss         Number  `json:"eval_mlm_loss"`
	NSPLoss         *Number `json:"eval_nsp_loss,omitempty"`
	MLMAccuracy     Number  `json:"eval_mlm_accuracy"`
	NSPAccuracy     *Number `json:"eval_nsp_accuracy,omitempty"`
	MaskLoss        Number  `json:"eval_mask_loss"` // only tokens whose input is [MASK]
	MaskAccuracy    Number  `json:"eval_mask_accuracy"`
	UnigramLoss     Number  `json:"eval_unigram_loss"` // unigram baseline on the same targets; null: unknown
	UnigramAccuracy Number  `json:"eval_unigram_accuracy"`
	LeftOut         int64   `json:"eval_left_out,omitempty"` // number of corrupt examples that were skipped
}

// A metric holds the fields that a resumed run reads from a line of any kind.
type metric struct {
	Step         int64    `json:"step"`
	Skipped      bool     `json:"skipped"`
	Loss         *float64 `json:"loss"`
	Rate         *float64 `json:"learning_rate"`
	Spent        float64  `json:"budget_spent_seconds"`
	EvalLoss     *float64 `json:"eval_loss"`
	EvalNSPLoss  *float64 `json:"eval_nsp_loss"`
	EvalExamples *float64 `json:"eval_examples"` // every Evaluation has it
	UnigramLoss  float64  `json:"eval_unigram_loss"`
	LeftOut      int64    `json:"left_out"`
	Damage       *Damage  `json:"damage"`
}

// Skipped counts the corrupt records that a run skipped.
type Skipped struct {
	Examples int64    // counted in every epoch
	Places   []Damage // the first maxListed records that the metrics name
	Named    int64    // number of records that the metrics name
	Tails    int64    // number of files with unreadable ends
}

// maxListed is the maximum number of skipped records that are listed at the end
// of a run.
const maxListed = 10

func (l *Skipped) add(m metric) {
	l.Examples += m.LeftOut
	if m.Damage == nil {
		return
	}
	if m.Damage.Tail {
		l.Tails++
	}
	if l.Named++; len(l.Places) < maxListed {
		l.Places = append(l.Places, *m.Damage)
	}
}

// A Number is a float64 that is null in JSON if it is not finite.
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// saturated returns the elements that were too large in a step in fp8, and adds them to
// the curves. In other precisions it returns nil.
func (d *Opened) saturated(i trainer.StepInfo, curves map[string]float64) *Number {
	if d.Precision != trainer.Float8 {
		return nil
	}
	n := Number(i.Saturated)
	curves["saturated"] = i.Saturated
	return &n
}

func newTrainLine(r trainer.Report, speed float64, single bool) trainLine {
	s := r.Info.Sums
	nspLoss, nspAccuracy := nspOf(s, single)
	return trainLine{
		Step: r.Progress.Step, Position: r.Progress.Position,
		Loss: Number(s.Loss()), MLMLoss: Number(s.MLM()), NSPLoss: nspLoss,
		MLMAccuracy: Number(Fraction(s.MLMCorrect, s.MLMWeight)), NSPAccuracy: nspAccuracy,
		Rate: Number(r.Info.Rate), GradNorm: Number(r.Info.GradNorm), LossScale: Number(r.Info.LossScale), Skipped: r.Info.Skipped,
		Tokens: int64(s.Tokens), Speed: Number(math.Round(speed)),
	}
}

func NewEvalLine(step int64, e *Evaluation) EvalLine {
	nspLoss, nspAccuracy := nspOf(e.All, e.Single)
	return EvalLine{
		Step: step, Examples: int64(e.All.Sequences),
		Loss: Number(e.All.Loss()), MLMLoss: Number(e.All.MLM()), NSPLoss: nspLoss,
		MLMAccuracy: Number(Fraction(e.All.MLMCorrect, e.All.MLMWeight)), NSPAccuracy: nspAccuracy,
		MaskLoss: Number(e.Mask.MLM()), MaskAccuracy: Number(Fraction(e.Mask.MLMCorrect, e.Mask.MLMWeight)),
		UnigramLoss: Number(e.UnigramLoss), UnigramAccuracy: Number(e.UnigramAccuracy), LeftOut: e.Skipped,
	}
}

// metrics is the metrics file, open for appending.
type metrics struct {
	file      *os.File
	evaluated int64   // step of the last evaluation in the file when it was opened; -1: none
	skipped   Skipped // corrupt records, over all lines

	cutSteps, cutEvals int64 // lines removed when the file was opened
}

// openMetrics opens the metrics of a run that resumes from the checkpoint from. It
// removes lines of later steps, written by an interrupted process. If from is nil, it
// removes all lines.
func openMetrics(path string, from *checkpoint.Checkpoint) (*metrics, error) {
	last := int64(-1)
	if from != nil {
		last = from.State.Progress.Step
	}
	m := &metrics{evaluated: -1}
	if err := m.cut(path, last); err != nil {
		return nil, fmt.Errorf("truncate %s: %w", path, err)
	}
	var err error
	m.file, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	return m, err
}

// keep reports whether a line belongs to a step up to last. It counts lines to remove,
// and adds the content of the other lines to m.
func (m *metrics) keep(read metric, last int64) bool {
	switch {
	case read.Step > last && read.EvalExamples != nil:
		m.cutEvals++
	case read.Step > last && read.Damage == nil:
		m.cutSteps++
	case read.Step <= last && read.EvalExamples != nil:
		m.evaluated = read.Step
	}
	if read.Step <= last {
		m.skipped.add(read)
	}
	return read.Step <= last
}

// cut removes lines of steps after last.
func (m *metrics) cut(path string, last int64) error {
	f, err := store.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	folder, err := store.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	w, err := folder.Create(context.Background(), filepath.Base(path))
	if err != nil {
		return err
	}
	defer w.Abort()
	buffered := bufio.NewWriter(w)
	err = eachMetric(f, func(line []byte, read metric) error {
		if !m.keep(read, last) {
			return nil
		}
		_, err := buffered.Write(line)
		return err
	})
	if err := errors.Join(err, buffered.Flush()); err != nil {
		return err
	}
	return w.Replace(nil)
}

// maxMetric is the maximum length of a line in bytes; usual lines have a few
// hundred.
const maxMetric = 1 << 20

// eachMetric calls do for every line, up to the first line that is incomplete or not
// JSON: a killed process may leave such a line. The slice line is valid only during
// the call.
func eachMetric(r io.Reader, do func(line []byte, m metric) error) error {
	lines := bufio.NewReaderSize(r, maxMetric)
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF || errors.Is(err, bufio.ErrBufferFull) {
			return nil
		}
		if err != nil {
			return err
		}
		var m metric
		if json.Unmarshal(bytes.TrimSpace(line), &m) != nil {
			return nil
		}
		if err := do(line, m); err != nil {
			return err
		}
	}
}

// append writes a line.
func (m *metrics) append(line any) error {
	switch line := line.(type) {
	case trainLine:
		m.skipped.add(metric{LeftOut: line.LeftOut})
	case damageLine:
		m.skipped.add(metric{Damage: &line.Damage})
	}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	if _, err := m.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}

func (m *metrics) sync() error { return m.file.Sync() }

// Close closes the file.
func (m *metrics) Close() error { return m.file.Close() }
