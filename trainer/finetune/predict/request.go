package predict

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// A Request is the JSON form of a request. The fields depend on the task:
//
//	fill-mask: text, top_k
//	classify:  text, pair
//	answer:    question, context, n_best
type Request struct {
	ID       json.RawMessage `json:"id"` // any JSON value; the response repeats it
	Text     *string         `json:"text"`
	Pair     *string         `json:"pair"`
	Question *string         `json:"question"`
	Context  *string         `json:"context"`
	TopK     *int            `json:"top_k"`
	NBest    *int            `json:"n_best"`
}

// Defaults are used for fields that a request does not set.
type Defaults struct{ TopK, NBest int }

// ParseRequest parses a request: one JSON object without unknown fields.
func ParseRequest(body []byte) (Request, error) {
	var r Request
	if !utf8.Valid(body) {
		return r, wrong("the request is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(&r)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return r, wrong("the request is not as described: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return r, nil
}

// Job converts a request to a job.
func (p *Predictor) Job(r Request, d Defaults) (Job, error) {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	number := func(n *int, otherwise int) int {
		if n == nil {
			return otherwise
		}
		return *n
	}
	switch p.Task() {
	case TaskFillMask:
		if r.Text == nil || r.Pair != nil || r.Question != nil || r.Context != nil || r.NBest != nil {
			return nil, wrong("a request to fill masks has the fields text and top_k")
		}
		return p.FillMask(*r.Text, number(r.TopK, d.TopK))
	case TaskClassify:
		if r.Text == nil || r.Question != nil || r.Context != nil || r.TopK != nil || r.NBest != nil {
			return nil, wrong("a request to classify has the fields text and pair")
		}
		return p.Classify(*r.Text, text(r.Pair), r.Pair != nil)
	}
	if r.Question == nil || r.Context == nil || r.Text != nil || r.Pair != nil || r.TopK != nil {
		return nil, wrong("a request for an answer has the fields question, context and n_best")
	}
	return p.Answer(*r.Question, *r.Context, number(r.NBest, d.NBest))
}
