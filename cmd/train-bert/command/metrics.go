package command

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
)

// metricsFile holds a line of JSON a step, and one an evaluation, in the order
// of steps.
const metricsFile = "metrics.jsonl"

// A trainLine is the line of a step.
type trainLine struct {
	Step        int64  `json:"step"`     // steps done
	Position    int64  `json:"position"` // examples seen
	Loss        number `json:"loss"`
	MLMLoss     number `json:"mlm_loss"`
	NSPLoss     number `json:"nsp_loss"`
	MLMAccuracy number `json:"mlm_accuracy"`
	NSPAccuracy number `json:"nsp_accuracy"`
	Rate        number `json:"learning_rate"`
	GradNorm    number `json:"grad_norm"` // before clipping
	LossScale   number `json:"loss_scale"`
	Skipped     bool   `json:"skipped"`
	Tokens      int64  `json:"tokens"`
	Speed       number `json:"tokens_per_second"`
}

// An evalLine is the line of an evaluation.
type evalLine struct {
	Step            int64  `json:"step"`
	Examples        int64  `json:"eval_examples"`
	Loss            number `json:"eval_loss"`
	MLMLoss         number `json:"eval_mlm_loss"`
	NSPLoss         number `json:"eval_nsp_loss"`
	MLMAccuracy     number `json:"eval_mlm_accuracy"`
	NSPAccuracy     number `json:"eval_nsp_accuracy"`
	MaskLoss        number `json:"eval_mask_loss"` // where the input is [MASK]
	MaskAccuracy    number `json:"eval_mask_accuracy"`
	UnigramEntropy  number `json:"eval_unigram_entropy"` // of the same targets
	UnigramAccuracy number `json:"eval_unigram_accuracy"`
}

// A metric is what is read back of either line.
type metric struct {
	Step           int64    `json:"step"`
	Skipped        bool     `json:"skipped"`
	Loss           *float64 `json:"loss"`
	EvalLoss       *float64 `json:"eval_loss"`
	UnigramEntropy float64  `json:"eval_unigram_entropy"`
}

// A number is null in JSON where it is not finite.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func newTrainLine(r trainer.Report, speed float64) trainLine {
	s := r.Info.Sums
	return trainLine{
		Step: r.Progress.Step, Position: r.Progress.Position,
		Loss: number(s.Loss()), MLMLoss: number(s.MLM()), NSPLoss: number(s.NSP()),
		MLMAccuracy: number(share(s.MLMCorrect, s.MLMWeight)), NSPAccuracy: number(share(s.NSPCorrect, s.NSPCount)),
		Rate: number(r.Info.Rate), GradNorm: number(r.Info.GradNorm), LossScale: number(r.Info.LossScale), Skipped: r.Info.Skipped,
		Tokens: int64(s.Tokens), Speed: number(math.Round(speed)),
	}
}

func newEvalLine(step int64, e *evaluation) evalLine {
	return evalLine{
		Step: step, Examples: int64(e.all.Sequences),
		Loss: number(e.all.Loss()), MLMLoss: number(e.all.MLM()), NSPLoss: number(e.all.NSP()),
		MLMAccuracy: number(share(e.all.MLMCorrect, e.all.MLMWeight)), NSPAccuracy: number(share(e.all.NSPCorrect, e.all.NSPCount)),
		MaskLoss: number(e.mask.MLM()), MaskAccuracy: number(share(e.mask.MLMCorrect, e.mask.MLMWeight)),
		UnigramEntropy: number(e.entropy), UnigramAccuracy: number(e.frequent),
	}
}

// metrics is the file open for appending.
type metrics struct {
	file      *os.File
	evaluated int64 // step of the last evaluation in it; -1: none
}

// openMetrics opens the metrics of a run that goes on after a step: lines of
// later steps, which an interrupted run had written after its last checkpoint,
// are cut off.
func openMetrics(path string, step int64) (*metrics, error) {
	evaluated, err := cutMetrics(path, step)
	if err != nil {
		return nil, fmt.Errorf("cut back %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	return &metrics{f, evaluated}, nil
}

// cutMetrics also returns the step of the last evaluation that is left.
func cutMetrics(path string, step int64) (evaluated int64, err error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	folder, err := store.Open(filepath.Dir(path))
	if err != nil {
		return 0, err
	}
	w, err := folder.Create(context.Background(), filepath.Base(path))
	if err != nil {
		return 0, err
	}
	defer w.Abort()
	buffered := bufio.NewWriter(w)
	evaluated = -1
	err = eachMetric(f, func(line []byte, m metric) error {
		if m.Step > step {
			return nil
		}
		if m.EvalLoss != nil {
			evaluated = m.Step
		}
		_, err := buffered.Write(line)
		return err
	})
	if err := errors.Join(err, buffered.Flush()); err != nil {
		return 0, err
	}
	return evaluated, w.Commit()
}

// eachMetric calls do for every line up to the first that is not whole: a run
// may have been killed while it wrote.
func eachMetric(r io.Reader, do func(line []byte, m metric) error) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
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
