package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"pretext/internal/failure"
	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/predict"
)

// Limits on standard input.
const (
	maxRequest  = 4 << 20 // maximum bytes of a line
	maxTogether = 64      // maximum lines that are computed together
)

// one computes the request r and writes its result to stdout. It returns a usage error
// for an invalid request.
func (q *predicting) one(ctx context.Context, r predict.Request, stdout io.Writer) error {
	job, err := q.predictor.Job(r, q.o.defaults)
	if err != nil {
		return failure.Usage(err)
	}
	if err := q.compute(ctx, jobs{job}); err != nil {
		return err
	}
	return writeLine(stdout, nil, job.Result())
}

// A line is the request parsed from a line of standard input.
type line struct {
	id  json.RawMessage
	job predict.Job // nil if err is not
	err error       // why the line is not a valid request
}

// errStopped reports that a signal stopped the command, which cannot be resumed.
var errStopped = fmt.Errorf("stopped: %w", context.Canceled)

// An input is a line of standard input.
type input struct {
	text []byte // nil: the line is too long
	err  error  // io.EOF after the last line
}

// readAhead is the number of lines that are read in advance, while others are computed.
const readAhead = 16

// lines writes one line for each line of stdin. Lines that have already arrived are
// computed together; otherwise each is answered as soon as it arrives.
func (q *predicting) lines(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	if q.predictor.Task() == predict.TaskAnswer && !q.o.jsonl {
		return failure.Usagef(`%s answers questions: give --question and --context, or --jsonl and lines of {"question": …, "context": …}`, q.o.model)
	}
	inputs, out := make(chan input, readAhead), bufio.NewWriter(stdout)
	stop := make(chan struct{})
	defer close(stop)
	// Reading a terminal or a pipe cannot be interrupted. It has a goroutine of its own,
	// so that a signal can end the command meanwhile.
	go func() {
		in := bufio.NewReaderSize(stdin, 1<<16)
		for {
			text, err := readLine(in)
			select {
			case inputs <- input{text, err}:
			case <-stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for end := false; !end; {
		group, err := q.group(ctx, inputs)
		end = err == io.EOF
		if err != nil && !end {
			return err
		}
		if err := q.answerLines(ctx, group, out); err != nil {
			return err
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// group waits for a line. It returns this line and those that have already arrived, up to
// the limits of a batch. After the last line the error is io.EOF.
func (q *predicting) group(ctx context.Context, inputs <-chan input) (group []line, err error) {
	masked := 0
	for len(group) == 0 || len(inputs) > 0 && len(group) < maxTogether && masked < maxMasked {
		select {
		case <-ctx.Done():
			return nil, errStopped
		case in := <-inputs:
			if in.err != nil {
				return group, in.err
			}
			l := q.parse(in.text)
			if l.job != nil {
				masked += l.job.Masked(0)
			}
			group = append(group, l)
		}
	}
	return group, nil
}

var errLongLine = fmt.Errorf("the line is longer than %d bytes", maxRequest)

// readLine returns a line without its line end, or nil if the line is too long. After the
// last line the error is io.EOF.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxRequest; !long {
			text = append(text, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(text) == 0 && !long:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		case long:
			return nil, nil
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(append([]byte{}, text...), []byte("\n")), []byte("\r")), nil
	}
}

func (q *predicting) parse(text []byte) (l line) {
	if text == nil {
		l.err = errLongLine
		return l
	}
	var r predict.Request
	if q.o.jsonl {
		if r, l.err = predict.ParseRequest(text); l.err != nil {
			return l
		}
	} else {
		s := string(text)
		r.Text = &s
	}
	l.id = r.ID
	l.job, l.err = q.predictor.Job(r, q.o.defaults)
	return l
}

func (q *predicting) answerLines(ctx context.Context, group []line, out io.Writer) error {
	var work jobs
	for _, l := range group {
		if l.job != nil {
			work = append(work, l.job)
		}
	}
	if err := q.compute(ctx, work); err != nil {
		return err
	}
	for _, l := range group {
		var result any
		if l.err != nil {
			result = map[string]string{"error": l.err.Error()}
		} else {
			result = l.job.Result()
		}
		if err := writeLine(out, l.id, result); err != nil {
			return err
		}
	}
	return nil
}

// writeLine writes a result as a JSON object on one line, with the request's id first.
func writeLine(w io.Writer, id json.RawMessage, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if id != nil {
		rest := b[1:]
		b = append(append([]byte(`{"id":`), id...), ',')
		b = append(b, rest...)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

func (q *predicting) compute(ctx context.Context, work jobs) error {
	if len(work) == 0 {
		return nil
	}
	_, err := finetune.Forward{Model: q.model, Heads: q.heads, Tokens: q.tokens}.Each(ctx, work, func(i int, values []float32) error {
		j, at := work.at(i)
		return work[j].Take(at, values)
	})
	return err
}

// jobs implements finetune.Examples: the sequences of several requests, in the order of
// the requests.
type jobs []predict.Job

// at returns the index of the job that contains sequence i, and the index of the sequence
// within this job.
func (j jobs) at(i int) (job, sequence int) {
	for i >= j[job].Len() {
		i -= j[job].Len()
		job++
	}
	return job, i
}

// Len implements finetune.Examples.
func (j jobs) Len() (n int) {
	for _, job := range j {
		n += job.Len()
	}
	return n
}

// Tokens implements finetune.Examples.
func (j jobs) Tokens(i int) int {
	job, at := j.at(i)
	return j[job].Tokens(at)
}

// Append implements finetune.Examples.
func (j jobs) Append(b *trainer.Batch, i int, position int64) {
	job, at := j.at(i)
	j[job].Append(b, at, position)
}
