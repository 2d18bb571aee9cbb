package squad_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune/squad"
)

// An oracleWindow is a line of oracle/squad-features.jsonl.
type oracleWindow struct {
	MaxSeqLength   int     `json:"max_seq_length"`
	DocStride      int     `json:"doc_stride"`
	MaxQueryLength int     `json:"max_query_length"`
	ID             string  `json:"id"`
	Span           int     `json:"span"`
	DocStart       int     `json:"doc_start"`
	DocLength      int     `json:"doc_length"`
	DocOffset      int     `json:"doc_offset"`
	InputIDs       []int32 `json:"input_ids"`
	SegmentB       int     `json:"segment_b"`
	TokenToWord    []int   `json:"token_to_word"`
	MaxContext     []int   `json:"max_context"`
	Start          int32   `json:"start_position"`
	End            int32   `json:"end_position"`
}

// key tells the sets of windows of a file apart.
func (w oracleWindow) key() squad.Options {
	return squad.Options{MaxSeqLength: w.MaxSeqLength, DocStride: w.DocStride, MaxQueryLength: w.MaxQueryLength}
}

func readOracleWindows(t *testing.T) []oracleWindow {
	t.Helper()
	var out []oracleWindow
	lines := bufio.NewScanner(bytes.NewReader(realdata.Read(t, "oracle/squad-features.jsonl")))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var w oracleWindow
		if err := json.Unmarshal(lines.Bytes(), &w); err != nil {
			t.Fatal(err)
		}
		out = append(out, w)
	}
	return out
}

// questionsOf returns the questions of all files of the test data that the
// oracle asks for, as a dataset.
func questionsOf(t *testing.T, ids map[string]bool) *squad.Dataset {
	t.Helper()
	out := &squad.Dataset{Name: "oracle"}
	files, err := filepath.Glob(filepath.Join(realdata.Path(t, "squad"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := squad.Read(file, b)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range d.Questions {
			if !ids[q.ID] {
				continue
			}
			delete(ids, q.ID)
			out.Paragraphs = append(out.Paragraphs, d.Paragraphs[q.Paragraph])
			q.Paragraph = len(out.Paragraphs) - 1
			out.Questions = append(out.Questions, q)
		}
	}
	if len(ids) > 0 {
		t.Fatalf("no file of %v has the questions %v", files, ids)
	}
	return out
}

// windowsOf makes the windows of a dataset in the oracle's form.
func windowsOf(t *testing.T, d *squad.Dataset, tok *tokenize.Tokenizer, o squad.Options) []oracleWindow {
	t.Helper()
	f, err := squad.NewFeatures(d, tok.NewEncoder(), o, squad.Train)
	if err != nil {
		t.Fatal(err)
	}
	var out []oracleWindow
	for i := range f.Len() {
		w := f.Window(i)
		var b trainer.Batch
		f.Append(&b, i, 0)
		o := oracleWindow{MaxSeqLength: o.MaxSeqLength, DocStride: o.DocStride, MaxQueryLength: o.MaxQueryLength,
			ID: d.Questions[w.Question].ID, Span: w.Number, DocStart: w.Start, DocLength: len(w.Pieces), DocOffset: w.Offset,
			InputIDs: b.IDs, Start: b.Starts[0], End: b.Ends[0]}
		for _, s := range b.Segments {
			o.SegmentB += int(s)
		}
		for p := range w.Pieces {
			o.TokenToWord = append(o.TokenToWord, w.WordOf(p))
			context := 0
			if w.MaxContext(p) {
				context = 1
			}
			o.MaxContext = append(o.MaxContext, context)
		}
		out = append(out, o)
	}
	return out
}

// The set does not say which vocabulary it was made with: one of those of the
// test data must give every window.
func TestOracleSQuADWindows(t *testing.T) {
	want := readOracleWindows(t)
	ids, bySet := map[string]bool{}, map[squad.Options]map[string]bool{}
	for _, w := range want {
		ids[w.ID] = true
		if bySet[w.key()] == nil {
			bySet[w.key()] = map[string]bool{}
		}
		bySet[w.key()][w.ID] = true
	}
	all := questionsOf(t, ids)
	order := func(a, b oracleWindow) int { return strings.Compare(a.sortKey(), b.sortKey()) }
	slices.SortFunc(want, order)
	most, nearest := -1, []oracleWindow(nil)
	for _, tok := range tokenizers(t) {
		var got []oracleWindow
		for options, ids := range bySet {
			got = append(got, windowsOf(t, only(all, ids), tok, options)...)
		}
		slices.SortFunc(got, order)
		equal := 0
		for i := range min(len(got), len(want)) {
			if reflect.DeepEqual(got[i], want[i]) {
				equal++
			}
		}
		if equal == len(want) && equal == len(got) {
			return
		}
		if equal > most {
			most, nearest = equal, got
		}
	}
	t.Errorf("windows differ with every vocabulary; with the nearest %d of %d are equal", most, len(want))
	for i := range min(len(nearest), len(want)) {
		if diff := cmp.Diff(want[i], nearest[i]); diff != "" {
			t.Fatalf("window %d (-want +got):\n%s", i, diff)
		}
	}
}

func (w oracleWindow) sortKey() string {
	b, err := json.Marshal([]any{w.MaxSeqLength, w.DocStride, w.MaxQueryLength, w.ID, w.Span + 1000000})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// only returns the questions with an id of ids.
func only(d *squad.Dataset, ids map[string]bool) *squad.Dataset {
	out := *d
	out.Questions = nil
	for _, q := range d.Questions {
		if ids[q.ID] {
			out.Questions = append(out.Questions, q)
		}
	}
	return &out
}

// tokenizers are those of the vocabularies of the test data, as they are meant
// to be used: with lower-casing where they have no capitals.
func tokenizers(t *testing.T) []*tokenize.Tokenizer {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(realdata.Path(t, "vocab"), "bert-base-*cased-vocab.txt"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, "no vocabularies")
	}
	var out []*tokenize.Tokenizer
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := tokenize.ReadVocab(file, b)
		if err != nil {
			continue // not all are BERT's
		}
		o := tokenize.DefaultOptions()
		_, capital := v.ID("The")
		o.DoLowerCase = !capital
		tok, err := tokenize.New(v, o)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, tok)
	}
	return out
}

func TestOracleSQuADMetric(t *testing.T) {
	var want struct {
		Exact     float64 `json:"exact_match"`
		F1        float64 `json:"f1"`
		Questions []struct {
			ID, What, Prediction string
			Answers              []string
			Exact                float64 `json:"exact_match"`
			F1                   float64 `json:"f1"`
		}
	}
	if err := json.Unmarshal(realdata.Read(t, "oracle/squad-metric.json"), &want); err != nil {
		t.Fatal(err)
	}
	d, answers := &squad.Dataset{Version: "1.1", Paragraphs: []squad.Paragraph{{}}}, map[string]string{}
	for _, q := range want.Questions {
		g := squad.Best(q.Prediction, q.Answers, false)
		if g.Exact != q.Exact || math.Abs(g.F1-q.F1) > 1e-12 {
			t.Errorf("%s, %q against %q: got %+v, want %v and %v", q.What, q.Prediction, q.Answers, g, q.Exact, q.F1)
		}
		question := squad.Question{ID: q.ID}
		for _, a := range q.Answers {
			question.Answers = append(question.Answers, squad.Answer{Text: a})
		}
		d.Questions = append(d.Questions, question)
		answers[q.ID] = q.Prediction
	}
	e := squad.Evaluate(d, answers, nil)
	if math.Abs(e.Exact-want.Exact) > 1e-9 || math.Abs(e.F1-want.F1) > 1e-9 || e.Total != len(want.Questions) {
		t.Errorf("got %+v, want exact %v, F1 %v", e, want.Exact, want.F1)
	}
}
