package session

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pretext/trainer"
	"pretext/trainer/session/events"
)

// boardPoints is the maximum number of points of a curve in TensorBoard;
// metrics.jsonl has all.
const boardPoints = 10000

// A board writes an event file for TensorBoard. Each process of a run writes its own
// file. TensorBoard drops the points of earlier files from the first step of this file.
type board struct {
	file  *os.File
	every int64
	buf   []byte
}

// openBoard creates the event file of a process that resumes after a step.
func openBoard(out string, step, steps int64) (*board, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	name := fmt.Sprintf("events.out.tfevents.%010d.%s.%d", time.Now().Unix(), host, os.Getpid())
	f, err := os.OpenFile(filepath.Join(out, name), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	b := &board{file: f, every: max(1, steps/boardPoints)}
	b.buf = events.AppendVersion(b.buf, wallTime())
	if step > 0 {
		b.buf = events.AppendRestart(b.buf, wallTime(), step+1)
	}
	return b, b.flush()
}

func wallTime() float64 { return float64(time.Now().UnixMicro()) / 1e6 }

func (b *board) flush() error {
	_, err := b.file.Write(b.buf)
	b.buf = b.buf[:0]
	if err != nil {
		return fmt.Errorf("write events: %w", err)
	}
	return nil
}

// step writes the curves of a finished step.
func (b *board) step(r trainer.Report, values map[string]float64) error {
	if r.Progress.Step%b.every != 0 {
		return nil
	}
	return b.scalars("train", r.Progress.Step, values)
}

// scalars writes one point of each curve. The curves are named group/NAME.
func (b *board) scalars(group string, step int64, values map[string]float64) error {
	var scalars []events.Scalar
	for _, tag := range slices.Sorted(maps.Keys(values)) {
		scalars = append(scalars, events.Scalar{Tag: group + "/" + tag, Value: float32(values[tag])})
	}
	b.buf = events.AppendScalars(b.buf, wallTime(), step, scalars)
	return b.flush()
}

// Close closes the file.
func (b *board) Close() error { return b.file.Close() }
