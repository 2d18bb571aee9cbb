package squad

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pretext/trainer/finetune"
)

// maxFile is the maximum size of a file in bytes. The training set of SQuAD 2.0, the
// largest known file, has 42 MB.
const maxFile = 1 << 30

// A Dataset is a parsed file in SQuAD's format.
type Dataset struct {
	Name       string // of the file, for errors
	Version    string // "1.1", "v2.0"; may be empty
	Paragraphs []Paragraph
	Questions  []Question // in the order of paragraphs
}

// A Paragraph is the text that questions are about.
type Paragraph struct {
	Title   string // title of its article
	Context string
}

// A Question is a question about a paragraph.
type Question struct {
	ID         string
	Text       string
	Paragraph  int
	Answers    []Answer
	Impossible bool // the paragraph does not contain the answer (SQuAD 2.0)
}

// An Answer is a correct answer: a part of the paragraph.
type Answer struct {
	Text  string
	Start int // index of its first character in the paragraph, in code points
}

// The JSON form of a file. Pointers distinguish absent from empty.
type (
	fileJSON struct {
		Version string        `json:"version"`
		Data    []articleJSON `json:"data"`
	}
	articleJSON struct {
		Title      string          `json:"title"`
		Paragraphs []paragraphJSON `json:"paragraphs"`
	}
	paragraphJSON struct {
		Context *string        `json:"context"`
		QAs     []questionJSON `json:"qas"`
	}
	questionJSON struct {
		ID         *string      `json:"id"`
		Question   *string      `json:"question"`
		Answers    []answerJSON `json:"answers"`
		Impossible bool         `json:"is_impossible"`
	}
	answerJSON struct {
		Text  *string `json:"text"`
		Start *int    `json:"answer_start"`
	}
)

// Read parses a file in the format of SQuAD. Errors are [*finetune.DataError]
// and begin with name. Answers are validated only when they are used for
// training.
func Read(name string, data []byte) (*Dataset, error) {
	fault := func(place, format string, args ...any) error {
		return &finetune.DataError{File: name, Place: place, Reason: fmt.Sprintf(format, args...)}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(data) > maxFile {
		return nil, fault("", "%d bytes: more than %d", len(data), maxFile)
	}
	if at := invalidUTF8(data); at >= 0 {
		return nil, fault(fmt.Sprintf("byte %d", at), "not UTF-8")
	}
	var f fileJSON
	if err := json.Unmarshal(data, &f); err != nil {
		place, reason := jsonFault(err)
		return nil, fault(place, "%s", reason)
	}
	if f.Data == nil {
		return nil, fault("", `not in SQuAD's format: it has no list "data"`)
	}
	d := &Dataset{Name: name, Version: f.Version}
	seen := map[string]bool{}
	for i, a := range f.Data {
		for j, p := range a.Paragraphs {
			place := fmt.Sprintf("data[%d].paragraphs[%d]", i, j)
			if p.Context == nil {
				return nil, fault(place, `no "context"`)
			}
			d.Paragraphs = append(d.Paragraphs, Paragraph{a.Title, *p.Context})
			for k, q := range p.QAs {
				if err := d.add(q, seen); err != nil {
					return nil, fault(fmt.Sprintf("%s.qas[%d]", place, k), "%v", err)
				}
			}
		}
	}
	return d, nil
}

// add adds a question to the last paragraph.
func (d *Dataset) add(q questionJSON, seen map[string]bool) error {
	switch {
	case q.ID == nil:
		return errors.New(`no "id"`)
	case q.Question == nil:
		return fmt.Errorf(`question %q: no "question"`, *q.ID)
	case seen[*q.ID]:
		return fmt.Errorf("question %q: its id is not unique", *q.ID)
	}
	seen[*q.ID] = true
	out := Question{ID: *q.ID, Text: *q.Question, Paragraph: len(d.Paragraphs) - 1, Impossible: q.Impossible}
	for n, a := range q.Answers {
		if a.Text == nil || a.Start == nil {
			return fmt.Errorf(`question %q: answers[%d]: no "text" or no "answer_start"`, *q.ID, n)
		}
		out.Answers = append(out.Answers, Answer{*a.Text, *a.Start})
	}
	d.Questions = append(d.Questions, out)
	return nil
}

// Answerable reports whether predictions can be evaluated: at least one question has an
// answer or is marked as unanswerable.
func (d *Dataset) Answerable() bool {
	return slices.ContainsFunc(d.Questions, func(q Question) bool { return len(q.Answers) > 0 || q.Impossible })
}

// Negatives reports whether any question is marked as unanswerable, as in SQuAD 2.0.
func (d *Dataset) Negatives() bool {
	if strings.HasPrefix(strings.TrimPrefix(d.Version, "v"), "2") {
		return true
	}
	return slices.ContainsFunc(d.Questions, func(q Question) bool { return q.Impossible })
}

// invalidUTF8 returns the offset of the first invalid byte, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for at := 0; ; {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// jsonFault returns the location and the reason of an error of encoding/json.
func jsonFault(err error) (place, reason string) {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("byte %d", syntax.Offset), "not JSON: " + syntax.Error()
	case errors.As(err, &kind):
		return fmt.Sprintf("byte %d", kind.Offset), fmt.Sprintf("%s where %q takes a %s", kind.Value, kind.Field, kind.Type)
	}
	return "", err.Error()
}
