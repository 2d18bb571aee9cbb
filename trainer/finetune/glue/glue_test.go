package glue_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune"
	"pretext/trainer/finetune/glue"
)

// nanEqual holds rows without a score equal.
var nanEqual = gocmp.Comparer(func(a, b float32) bool { return a == b || a != a && b != b })

func none() float32 { return float32(math.NaN()) }

// The tables of every task, with the header that GLUE's files have, a row of
// train and dev, and one of test.
func TestEveryTaskReadsItsTables(t *testing.T) {
	for _, c := range []struct {
		task  string
		split glue.Split
		table string
		want  glue.Row
	}{
		{"mrpc", glue.Train, "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t10\t11\tone \"quoted\tother\r\n", glue.Row{A: "one \"quoted", B: "other", Class: 1, Score: none()}},
		{"mrpc", glue.Test, "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t10\t11\tone\tother\n", glue.Row{A: "one", B: "other", Class: trainer.NoLabel, Score: none()}},
		{"SST-2", glue.Dev, "sentence\tlabel\na film .\t0\n", glue.Row{A: "a film .", Class: 0, Score: none()}},
		{"sst2", glue.Dev, "label\ttext_a\n1\ta film .", glue.Row{A: "a film .", Class: 1, Score: none()}},
		{"sst-2", glue.Test, "index\tsentence\n0\ta film .\n", glue.Row{A: "a film .", Class: trainer.NoLabel, Score: none()}},
		{"cola", glue.Train, "gj04\t0\t*\tA sentence it.\n", glue.Row{A: "A sentence it.", Class: 0, Score: none()}},
		{"cola", glue.Test, "index\tsentence\n0\tA sentence.\n", glue.Row{A: "A sentence.", Class: trainer.NoLabel, Score: none()}},
		{"mnli", glue.Train, "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label\n" +
			"0\t1\t1n\tg\t(\t(\t(\t(\tit\tthat\tneutral\tneutral\n", glue.Row{A: "it", B: "that", Class: 2, Score: none()}},
		{"mnli", glue.DevMismatched, "index\tpromptID\tsentence1\tsentence2\tlabel1\tlabel2\tgold_label\n0\t1\tit\tthat\tneutral\tneutral\tcontradiction\n", glue.Row{A: "it", B: "that", Class: 0, Score: none()}},
		{"mnli", glue.TestMismatched, "index\tsentence1\tsentence2\n0\tit\tthat\n", glue.Row{A: "it", B: "that", Class: trainer.NoLabel, Score: none()}},
		{"qnli", glue.Dev, "index\tquestion\tsentence\tlabel\n0\twhat?\tthis\tnot_entailment\n", glue.Row{A: "what?", B: "this", Class: 1, Score: none()}},
		{"rte", glue.Dev, "index\tsentence1\tsentence2\tlabel\n0\tit\tthat\tentailment\n", glue.Row{A: "it", B: "that", Class: 0, Score: none()}},
		{"wnli", glue.Dev, "index\tsentence1\tsentence2\tlabel\n0\tit\tthat\t1\n", glue.Row{A: "it", B: "that", Class: 1, Score: none()}},
		{"qqp", glue.Train, "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n0\t1\t2\twhy?\thow?\t1\n", glue.Row{A: "why?", B: "how?", Class: 1, Score: none()}},
		{"sts-b", glue.Dev, "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\tscore\n0\tg\tf\ty\to\ts\ts\tit\tthat\t3.25\n",
			glue.Row{A: "it", B: "that", Class: trainer.NoLabel, Score: 3.25}},
	} {
		task, err := glue.ByName(c.task)
		if err != nil {
			t.Fatal(err)
		}
		if err := task.Validate(); err != nil {
			t.Errorf("%s: %v", c.task, err)
		}
		_, rows, err := task.Read("t.tsv", []byte(c.table), c.split)
		if err != nil {
			t.Errorf("%s %s: %v", c.task, c.split, err)
			continue
		}
		if diff := gocmp.Diff([]glue.Row{c.want}, rows, nanEqual); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.task, c.split, diff)
		}
		if _, ok := task.File(c.split); !ok {
			t.Errorf("%s has no file of %s", c.task, c.split)
		}
	}
	if _, err := glue.ByName("squad"); err == nil || !strings.Contains(err.Error(), "must be one of cola, mnli, mrpc") {
		t.Errorf("got %v", err)
	}
}

func TestTheClassesOfATableOfOnesOwnAreItsLabels(t *testing.T) {
	task := glue.Task{Name: "tsv", A: []string{"Text"}, Label: []string{"class"}}
	task, rows, err := task.Read("train.tsv", []byte("class\ttext\nzoo\ta\nbar\tb\nzoo\tc\n"), glue.Train)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"bar", "zoo"}; !slices.Equal(task.Labels, want) || rows[0].Class != 1 || rows[1].Class != 0 || rows[2].Class != 1 {
		t.Errorf("got %v, %+v", task.Labels, rows)
	}
	if task.Heads() != (trainer.Heads{Labels: 2}) {
		t.Errorf("got %+v", task.Heads())
	}
	if _, _, err := task.Read("dev.tsv", []byte("class\ttext\nnew\ta\n"), glue.Dev); err == nil || err.Error() != `dev.tsv: line 2: label "new": must be one of ["bar" "zoo"]` {
		t.Errorf("got %v", err)
	}
}

func TestWhatIsNoTableIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ task, in, want string }{
		{"sst-2", "", "t.tsv: no rows"},
		{"sst-2", "sentence\tlabel\n", "t.tsv: no rows"},
		{"sst-2", "text only\na\n", "t.tsv: line 1: no column for the text, named sentence or text_a or text"},
		{"sst-2", "sentence\na\n", "t.tsv: line 1: no column for the label, named label"},
		{"mrpc", "Quality\t#1 String\n1\ta\n", "t.tsv: line 1: no column for the second text"},
		{"sst-2", "sentence\tlabel\na\t1\nb\n", "t.tsv: line 3: 1 cells: column 2 is missing"},
		{"sst-2", "sentence\tlabel\na\t2\n", `t.tsv: line 2: label "2": must be one of ["0" "1"]`},
		{"sst-2", "sentence\tlabel\n\xff\t1\n", "t.tsv: line 2: not UTF-8"},
		{"sst-2", "sentence\tlabel\n" + strings.Repeat("a", 1<<24+1), "t.tsv: line 2: 16777217 bytes: more than"},
		{"sts-b", "sentence1\tsentence2\tscore\na\tb\tNaN\n", `t.tsv: line 2: score "NaN": not a number`},
		{"cola", "a\tb\n", "t.tsv: line 1: 2 cells: column 4 is missing"},
	} {
		task, err := glue.ByName(c.task)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = task.Read("t.tsv", []byte(c.in), glue.Train)
		if !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s %.60q: got %v, want %s", c.task, c.in, err, c.want)
		}
	}
	own := glue.Task{A: []string{"text"}, Label: []string{"class"}}
	if _, _, err := own.Read("t.tsv", []byte("text\tclass\na\tx\nb\tx\n"), glue.Train); err == nil || !strings.Contains(err.Error(), "1 classes: must be from 2") {
		t.Errorf("one class: got %v", err)
	}
}

func FuzzReadGivesARowALine(f *testing.F) {
	f.Add([]byte("sentence\tlabel\na film\t1\n\t0\n"))
	f.Add([]byte("\ufeffsentence\tlabel\r\na\t1\r\n"))
	task, err := glue.ByName("sst-2")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, rows, err := task.Read("t.tsv", data, glue.Dev)
		if err != nil {
			if !errors.Is(err, finetune.ErrData) || !strings.HasPrefix(err.Error(), "t.tsv: ") {
				t.Fatal(err)
			}
			return
		}
		table := "label\tsentence\n"
		for _, r := range rows {
			table += fmt.Sprintf("%d\t%s\n", r.Class, r.A)
		}
		_, again, err := task.Read("t.tsv", []byte(table), glue.Dev)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(rows, again, nanEqual); diff != "" {
			t.Fatalf("read again (-first +second):\n%s", diff)
		}
	})
}

// letters is a tokenizer whose pieces are letters, whole or continued.
func letters(t interface{ Fatal(...any) }) *tokenize.Tokenizer {
	vocab := []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
	for r := 'a'; r <= 'z'; r++ {
		vocab = append(vocab, string(r), "##"+string(r))
	}
	v, err := tokenize.NewVocab(vocab)
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// The plain version pops one piece after the other, as _truncate_seq_pair does.
func TestPairsAreCutAsByThePlainVersion(t *testing.T) {
	tok := letters(t)
	enc := tok.NewEncoder()
	task := glue.Task{A: []string{"a"}, B: []string{"b"}}
	rapid.Check(t, func(t *rapid.T) {
		row := glue.Row{A: rapid.StringMatching(`[a-z ]{0,14}`).Draw(t, "a"), B: rapid.StringMatching(`[a-z ]{0,14}`).Draw(t, "b"), Class: 1, Score: 0.5}
		length := rapid.IntRange(4, 20).Draw(t, "max_seq_length")
		x, err := glue.NewExamples(task, []glue.Row{{A: "before", B: "it"}, row}, enc, length)
		if err != nil {
			t.Fatal(err)
		}
		a, b := enc.AppendIDs(nil, row.A), enc.AppendIDs(nil, row.B)
		for len(a)+len(b) > length-3 {
			if len(a) > len(b) {
				a = a[:len(a)-1]
			} else {
				b = b[:len(b)-1]
			}
		}
		v := tok.Vocab()
		ids := append(append([]int32{v.CLS()}, a...), v.SEP())
		segments := make([]int32, len(ids))
		ids = append(append(ids, b...), v.SEP())
		for len(segments) < len(ids) {
			segments = append(segments, 1)
		}
		var batch trainer.Batch
		x.Append(&batch, 1, 9)
		if !slices.Equal(batch.IDs, ids) || !slices.Equal(batch.Segments, segments) || x.Tokens(1) != len(ids) {
			t.Fatalf("%+v cut to %d: got %v, %v, want %v, %v", row, length, batch.IDs, batch.Segments, ids, segments)
		}
		if batch.Labels[0] != 1 || batch.Scores[0] != 0.5 || batch.Sequence[0] != 9 || batch.NSPLabels[0] != trainer.NoLabel {
			t.Fatalf("batch %+v", batch)
		}
	})
}

func TestASentenceAloneHasOneSegment(t *testing.T) {
	tok := letters(t)
	x, err := glue.NewExamples(glue.Task{A: []string{"a"}}, []glue.Row{{A: "abc de"}, {A: ""}}, tok.NewEncoder(), 5)
	if err != nil {
		t.Fatal(err)
	}
	var b trainer.Batch
	for i := range x.Len() {
		x.Append(&b, i, 0)
	}
	v := tok.Vocab()
	id := func(s string) int32 { n, _ := v.ID(s); return n }
	if want := []int32{v.CLS(), id("a"), id("##b"), id("##c"), v.SEP(), v.CLS(), v.SEP()}; !slices.Equal(b.IDs, want) {
		t.Errorf("got %v, want %v", b.IDs, want)
	}
	if slices.Max(b.Segments) != 0 {
		t.Errorf("segments %v", b.Segments)
	}
	for _, length := range []int{3, trainer.MaxPositions + 1} {
		if _, err := glue.NewExamples(glue.Task{}, nil, tok.NewEncoder(), length); err == nil {
			t.Errorf("max_seq_length %d was let pass", length)
		}
	}
}

// The values are those of scikit-learn and SciPy by their formulas, worked out by
// hand.
func TestMetrics(t *testing.T) {
	answers, right := []float64{1, 1, 0, 0, 1, 0}, []float64{1, 0, 0, 1, 1, 0} // tp 2, fp 1, fn 1, tn 2
	scores, rights := []float64{1, 2, 2, 5}, []float64{2, 1, 3, 4}
	for _, c := range []struct {
		m             glue.Metric
		answer, right []float64
		want          float64
	}{
		{glue.Accuracy, answers, right, 4 / 6.},
		{glue.F1, answers, right, 2 / 3.},
		{glue.Matthews, answers, right, (2*2 - 1*1) / 9.},
		{glue.Matthews, []float64{1, 1}, []float64{1, 0}, 0},
		{glue.F1, []float64{0}, []float64{0}, 0},
		{glue.Accuracy, nil, nil, 0},
		// deviations −1.5 −0.5 −0.5 2.5 and −0.5 −1.5 0.5 1.5
		{glue.Pearson, scores, rights, (0.75 + 0.75 - 0.25 + 3.75) / math.Sqrt(9*5)},
		// ranks 1 2.5 2.5 4 and 2 1 3 4: deviations −1.5 0 0 1.5 and −0.5 −1.5 0.5 1.5
		{glue.Spearman, scores, rights, (0.75 + 2.25) / math.Sqrt(4.5*5)},
		{glue.Pearson, []float64{3, 3}, []float64{1, 2}, 0},
		{glue.Pearson, []float64{1, 2, 3}, []float64{2, 4, 6}, 1},
	} {
		if got := c.m.Of(c.answer, c.right); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s of %v, %v: got %v, want %v", c.m, c.answer, c.right, got, c.want)
		}
	}
}

// Rounding must not give a correlation beyond 1, which a reader would take for a defect.
func TestCorrelationsAreWithinTheirLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 1000 {
		x, y := make([]float64, 7), make([]float64, 7)
		for i := range x {
			x[i] = r.NormFloat64()
			y[i] = -x[i] / 3
		}
		if up, down := glue.Pearson.Of(x, x), glue.Pearson.Of(x, y); up > 1 || up < 1-1e-12 || down < -1 || down > -1+1e-12 {
			t.Fatalf("got %v and %v, want 1 and -1", up, down)
		}
	}
}

func TestResultLinesAreThoseOfTheReference(t *testing.T) {
	if got, want := string(glue.AppendResult(nil, []float32{0, 0}, false)), "0.5\t0.5\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(glue.AppendResult(nil, []float32{-30, 0}, false)), "9.357623e-14\t1.0\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := string(glue.AppendResult(nil, []float32{2.5}, true)), "2.5\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func Example() {
	task, err := glue.ByName("sst-2")
	if err != nil {
		panic(err)
	}
	_, rows, err := task.Read("dev.tsv", []byte("sentence\tlabel\na joy to watch\t1\nit drags\t0\n"), glue.Dev)
	if err != nil {
		panic(err)
	}
	for _, r := range rows {
		fmt.Println(r.Class, r.A)
	}
	fmt.Println(glue.Accuracy.Of([]float64{1, 1}, []float64{1, 0}))
	// Output:
	// 1 a joy to watch
	// 0 it drags
	// 0.5
}
