package squad_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/trainer/finetune/squad"
)

// The bytes are those of Python's json.dumps(…, indent=4) and a line end.
func TestPredictionFilesHaveTheReferencesBytes(t *testing.T) {
	d := &squad.Dataset{Questions: []squad.Question{{ID: "q1"}, {ID: "q\"2"}}}
	p := []squad.Prediction{
		{Question: 0, Text: "naïve\t😀", NullOdds: -1, NBest: []squad.Candidate{{Text: "naïve\t😀", Probability: 0.75, StartLogit: 1e-7, EndLogit: 12}, {Text: "", Probability: 0.25}}},
		{Question: 1, NullOdds: 2.5e16, NBest: []squad.Candidate{{Text: "empty", Probability: 1}}},
	}
	for _, c := range []struct {
		write func(io.Writer, *squad.Dataset, []squad.Prediction) error
		want  string
	}{
		{squad.WriteAnswers, "{\n    \"q1\": \"na\\u00efve\\t\\ud83d\\ude00\",\n    \"q\\\"2\": \"\"\n}\n"},
		{squad.WriteOdds, "{\n    \"q1\": -1.0,\n    \"q\\\"2\": 2.5e+16\n}\n"},
		{squad.WriteNBest, `{
    "q1": [
        {
            "text": "na\u00efve\t\ud83d\ude00",
            "probability": 0.75,
            "start_logit": 1e-07,
            "end_logit": 12.0
        },
        {
            "text": "",
            "probability": 0.25,
            "start_logit": 0.0,
            "end_logit": 0.0
        }
    ],
    "q\"2": [
        {
            "text": "empty",
            "probability": 1.0,
            "start_logit": 0.0,
            "end_logit": 0.0
        }
    ]
}
`},
	} {
		var got bytes.Buffer
		if err := c.write(&got, d, p); err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if !json.Valid(got.Bytes()) {
			t.Error("not JSON")
		}
	}
	var empty bytes.Buffer
	if err := squad.WriteAnswers(&empty, d, nil); err != nil || empty.String() != "{}\n" {
		t.Errorf("got %q, %v, want an empty object", empty.String(), err)
	}
}

// What a model gives is read back as it was written.
func TestPredictionsAreReadBack(t *testing.T) {
	d := &squad.Dataset{Questions: []squad.Question{{ID: "a\u2028"}, {ID: "b"}}}
	p := []squad.Prediction{{Question: 0, Text: "<x> & \x7f\x01", NullOdds: 0.1}, {Question: 1, Text: "日本", NullOdds: -1e-300}}
	var answers, odds bytes.Buffer
	if err := squad.WriteAnswers(&answers, d, p); err != nil {
		t.Fatal(err)
	}
	if err := squad.WriteOdds(&odds, d, p); err != nil {
		t.Fatal(err)
	}
	texts, err := squad.ReadAnswers("", answers.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	numbers, err := squad.ReadOdds("", odds.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p {
		id := d.Questions[x.Question].ID
		if texts[id] != x.Text || numbers[id] != x.NullOdds {
			t.Errorf("%q: got %q, %v, want %q, %v", id, texts[id], numbers[id], x.Text, x.NullOdds)
		}
	}
}
