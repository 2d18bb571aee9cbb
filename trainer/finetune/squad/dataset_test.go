package squad_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/trainer/finetune"
	"pretext/trainer/finetune/squad"
)

const smallFile = `{"version": "1.1", "data": [{"title": "T", "paragraphs": [
 {"context": "ab ab. cd (12)", "qas": [
  {"id": "q1", "question": "a?", "answers": [{"text": "12", "answer_start": 11}, {"text": "cd", "answer_start": 7}]},
  {"id": "q2", "question": "b?", "answers": []}]}]}]}`

func TestAFileIsRead(t *testing.T) {
	d, err := squad.Read("f.json", []byte("\ufeff"+smallFile))
	if err != nil {
		t.Fatal(err)
	}
	want := &squad.Dataset{Name: "f.json", Version: "1.1", Paragraphs: []squad.Paragraph{{Title: "T", Context: "ab ab. cd (12)"}}, Questions: []squad.Question{
		{ID: "q1", Text: "a?", Answers: []squad.Answer{{Text: "12", Start: 11}, {Text: "cd", Start: 7}}}, {ID: "q2", Text: "b?"}}}
	if diff := gocmp.Diff(want, d); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Negatives() {
		t.Error("version 1.1 has no questions without an answer")
	}
}

func TestWhatIsNotOfSQuADsFormIsRefusedWithItsPlace(t *testing.T) {
	file := func(context, qas string) string {
		return `{"data": [{"paragraphs": [{"context": "x", "qas": []}, {` + context + `"qas": [` + qas + `]}]}]}`
	}
	text, qa := `"context": "ab", `, `{"id": "q", "question": "a?"}`
	for in, want := range map[string]string{
		``:                     `f.json: byte 0: not JSON`,
		`{"data": [}`:          `f.json: byte 11: not JSON`,
		`[]`:                   `f.json: byte 1: array where`,
		`{}`:                   `f.json: not in SQuAD's format: it has no list "data"`,
		"{\"data\": \"\xff\"}": `f.json: byte 10: not UTF-8`,
		`{"data": [{"paragraphs": [{"context": 3}]}]}`: `f.json: byte 39: number where "data.paragraphs.context"`,
		file(``, qa):                     `f.json: data[0].paragraphs[1]: no "context"`,
		file(text, `{"question": "a?"}`): `f.json: data[0].paragraphs[1].qas[0]: no "id"`,
		file(text, `{"id": "q"}`):        `f.json: data[0].paragraphs[1].qas[0]: question "q": no "question"`,
		file(text, qa+","+qa):            `f.json: data[0].paragraphs[1].qas[1]: question "q": its id is not unique`,
		file(text, `{"id": "q", "question": "", "answers": [{"text": "a"}]}`): `f.json: data[0].paragraphs[1].qas[0]: question "q": answers[0]: no "text" or no "answer_start"`,
		strings.Repeat("[", 20000): `f.json: `,
	} {
		_, err := squad.Read("f.json", []byte(in))
		if !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.80q: got %v, want %s", in, err, want)
		}
	}
}

func TestAnAnswerThatCannotBeLearnedIsNamed(t *testing.T) {
	tok := testTokenizer(t, true)
	for _, c := range []struct {
		q    squad.Question
		o    bool
		want string // "": left out; "ok": learned
	}{
		{squad.Question{Answers: []squad.Answer{{Text: "ab", Start: 3}}}, false, "ok"},
		{squad.Question{Answers: []squad.Answer{{Text: "cd", Start: 3}}}, false, ""},
		{squad.Question{Answers: []squad.Answer{{Text: " ab", Start: 0}}}, false, ""}, // white space before the first word
		{squad.Question{Answers: []squad.Answer{{Text: "ab", Start: 40}}}, false, "its answer, 2 characters from character 40 on, is outside its paragraph of 12 characters"},
		{squad.Question{Answers: []squad.Answer{{Text: "abcdabcdabcdabcd", Start: 1}}}, false, "is outside its paragraph"},
		{squad.Question{Answers: []squad.Answer{{Text: "ab", Start: -1}}}, false, "is outside its paragraph"},
		{squad.Question{Answers: []squad.Answer{{Text: "ab", Start: int(^uint(0) >> 1)}}}, false, "is outside its paragraph"},
		{squad.Question{Answers: []squad.Answer{{Text: "", Start: 1}}}, false, "is outside its paragraph"},
		{squad.Question{}, false, "no answer to train on"},
		{squad.Question{Impossible: true}, false, "no answer to train on"},
		{squad.Question{Impossible: true}, true, "ok"},
	} {
		c.q.ID, c.q.Text = "q7", "a?"
		d := &squad.Dataset{Name: "f.json", Paragraphs: []squad.Paragraph{{Context: " é ab (12) d"}}, Questions: []squad.Question{c.q}}
		o := squad.Options{MaxSeqLength: 16, DocStride: 4, MaxQueryLength: 4, Negatives: c.o}
		f, err := squad.NewFeatures(d, tok.NewEncoder(), o, squad.Train)
		switch {
		case c.want == "ok":
			if err != nil || len(f.Unfound) > 0 {
				t.Errorf("%+v: got %v", c.q, err)
			}
		case c.want == "":
			if err != nil || len(f.Unfound) != 1 || f.Len() != 0 {
				t.Errorf("%+v: got %v, want it left out", c.q, err)
			}
		case !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), `f.json: question "q7": `) || !strings.Contains(err.Error(), c.want):
			t.Errorf("%+v: got %v, want %s", c.q, err, c.want)
		}
	}
}

// A paragraph of a million words under a thousand questions, all of whose answers
// repeat its words, takes no more than a pass over it for each.
func TestHostileParagraphsTakeLinearTime(t *testing.T) {
	tok := testTokenizer(t, true)
	text := strings.Repeat("a ", 300000)
	d := &squad.Dataset{Paragraphs: []squad.Paragraph{{Context: text}}}
	for i := range 20 {
		d.Questions = append(d.Questions, squad.Question{ID: fmt.Sprint(i), Text: "a?", Answers: []squad.Answer{{Text: text[:400000], Start: 0}}})
	}
	start := time.Now()
	f, err := squad.NewFeatures(d, tok.NewEncoder(), squad.DefaultOptions(), squad.Train)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < f.Len(); i += 997 {
		w := f.Window(i)
		for p := range w.Pieces {
			w.MaxContext(p)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func FuzzReadKeepsWhatItReads(f *testing.F) {
	f.Add([]byte(smallFile))
	f.Add([]byte(`{"version": "v2.0", "data": [{"paragraphs": [{"context": "", "qas": [{"id": "", "question": "", "is_impossible": true}]}]}]}`))
	f.Add([]byte(`{"data": [{"title": "\ud800", "paragraphs": [{"context": "a\u202fb", "qas": [{"id": "1", "question": "?", "answers": [{"text": "b", "answer_start": 2}]}]}]}]}`))
	tok := testTokenizer(f, true)
	o := squad.Options{MaxSeqLength: 12, DocStride: 3, MaxQueryLength: 4, Negatives: true}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := squad.Read("f.json", data)
		if err != nil {
			if !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), "f.json: ") {
				t.Fatalf("error %v", err)
			}
			return
		}
		again, err := squad.Read("f.json", asFile(t, d))
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(d.Questions, again.Questions); diff != "" {
			t.Fatalf("read again (-first +second):\n%s", diff)
		}
		for _, purpose := range []squad.Purpose{squad.Predict, squad.Train} {
			features, err := squad.NewFeatures(d, tok.NewEncoder(), o, purpose)
			if err != nil {
				if purpose == squad.Predict || !errors.Is(err, finetune.ErrData) {
					t.Fatal(err)
				}
				continue
			}
			for i := range min(features.Len(), 100) {
				if n := features.Tokens(i); n < 4 || n > o.MaxSeqLength {
					t.Fatalf("window of %d tokens", n)
				}
			}
		}
	})
}

// asFile writes a dataset in SQuAD's form.
func asFile(t *testing.T, d *squad.Dataset) []byte {
	t.Helper()
	var paragraphs []map[string]any
	for i, p := range d.Paragraphs {
		qas := []map[string]any{}
		for _, q := range d.Questions {
			if q.Paragraph != i {
				continue
			}
			answers := []map[string]any{}
			for _, a := range q.Answers {
				answers = append(answers, map[string]any{"text": a.Text, "answer_start": a.Start})
			}
			qas = append(qas, map[string]any{"id": q.ID, "question": q.Text, "answers": answers, "is_impossible": q.Impossible})
		}
		paragraphs = append(paragraphs, map[string]any{"context": p.Context, "qas": qas})
	}
	b, err := json.Marshal(map[string]any{"version": d.Version, "data": []any{map[string]any{"paragraphs": paragraphs}}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
