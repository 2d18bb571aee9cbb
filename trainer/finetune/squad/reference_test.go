package squad_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune/squad"
)

// The words of the tests: each letter a piece, whole or continued, and some
// longer pieces, so that words have several.
const testVocab = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n##a\n##b\n##c\n##d\nab\n##ab\n(\n)\n,\n.\n-\n1\n2\n##1\n##2\n12\n##12\n?"

func testTokenizer(t interface{ Fatal(...any) }, lower bool) *tokenize.Tokenizer {
	v, err := tokenize.ReadVocab("vocab.txt", []byte(testVocab))
	if err != nil {
		t.Fatal(err)
	}
	o := tokenize.DefaultOptions()
	o.DoLowerCase = lower
	tok, err := tokenize.New(v, o)
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// A plainWindow is what the plain version below makes.
type plainWindow struct {
	Tokens     []string
	Start      int // first piece
	WordOf     []int
	MaxContext []bool
	From, To   int
}

// plainWindows is convert_examples_to_features of run_squad.py, written down as
// its rules stand: slow, with lists of strings.
func plainWindows(tok *tokenize.Tokenizer, o squad.Options, context string, q squad.Question) []plainWindow {
	enc := tok.NewEncoder()
	words, charToWord, inWord := []string{}, []int{}, false
	for _, r := range context {
		switch {
		case strings.ContainsRune(" \t\r\n\u202f", r):
			inWord = false
		case inWord:
			words[len(words)-1] += string(r)
		default:
			words, inWord = append(words, string(r)), true
		}
		charToWord = append(charToWord, len(words)-1)
	}
	var pieces []string
	var wordOf, first []int
	for i, w := range words {
		first = append(first, len(pieces))
		for _, p := range enc.AppendTokens(nil, w) {
			pieces, wordOf = append(pieces, p), append(wordOf, i)
		}
	}
	from, to := -1, -1
	if len(q.Answers) > 0 && !q.Impossible {
		a := q.Answers[0]
		end := charToWord[a.Start+len([]rune(a.Text))-1]
		from, to = first[charToWord[a.Start]], len(pieces)-1
		if end < len(words)-1 {
			to = first[end+1] - 1
		}
		from, to = plainNarrow(pieces, from, to, strings.Join(enc.AppendTokens(nil, a.Text), " "))
	}
	query := enc.AppendTokens(nil, q.Text)
	query = query[:min(len(query), o.MaxQueryLength)]
	room := o.MaxSeqLength - len(query) - 3
	var spans [][2]int
	for at := 0; at < len(pieces); {
		n := min(room, len(pieces)-at)
		spans = append(spans, [2]int{at, n})
		if at+n == len(pieces) {
			break
		}
		at += min(n, o.DocStride)
	}
	var out []plainWindow
	for k, s := range spans {
		w := plainWindow{Start: s[0], Tokens: append(append([]string{"[CLS]"}, query...), "[SEP]")}
		offset := len(w.Tokens)
		for i := s[0]; i < s[0]+s[1]; i++ {
			w.Tokens, w.WordOf = append(w.Tokens, pieces[i]), append(w.WordOf, wordOf[i])
			w.MaxContext = append(w.MaxContext, plainBest(spans, i) == k)
		}
		w.Tokens = append(w.Tokens, "[SEP]")
		if from >= s[0] && to < s[0]+s[1] && to >= from {
			w.From, w.To = from-s[0]+offset, to-s[0]+offset
		}
		out = append(out, w)
	}
	return out
}

func plainNarrow(pieces []string, from, to int, want string) (int, int) {
	for i := from; i <= to; i++ {
		for j := to; j >= i; j-- {
			if strings.Join(pieces[i:j+1], " ") == want {
				return i, j
			}
		}
	}
	return from, to
}

func plainBest(spans [][2]int, place int) int {
	best, at := math.Inf(-1), -1
	for k, s := range spans {
		end := s[0] + s[1] - 1
		if place < s[0] || place > end {
			continue
		}
		if score := float64(min(place-s[0], end-place)) + 0.01*float64(s[1]); score > best {
			best, at = score, k
		}
	}
	return at
}

var contexts = rapid.StringMatching(`[abcdABx()12,.é\- \t\n\x{202f}\x{a0}]{0,60}`)

// drawQuestion draws a paragraph and a question with an answer of whole
// characters of it.
func drawQuestion(t *rapid.T) (string, squad.Question) {
	context := contexts.Draw(t, "context")
	q := squad.Question{ID: "q", Text: rapid.StringMatching(`[abcd? ]{0,12}`).Draw(t, "question")}
	if runes := []rune(context); len(runes) > 0 {
		from := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		to := rapid.IntRange(from, min(len(runes)-1, from+12)).Draw(t, "to")
		q.Answers = []squad.Answer{{Text: string(runes[from : to+1]), Start: from}}
	}
	return context, q
}

func drawOptions(t *rapid.T) squad.Options {
	query := rapid.IntRange(1, 6).Draw(t, "max_query_length")
	return squad.Options{MaxQueryLength: query, MaxSeqLength: query + 4 + rapid.IntRange(0, 12).Draw(t, "room"),
		DocStride: rapid.IntRange(1, 9).Draw(t, "doc_stride"), Pad: rapid.Bool().Draw(t, "pad")}
}

func TestWindowsAreThoseOfThePlainVersion(t *testing.T) {
	tok := testTokenizer(t, true)
	rapid.Check(t, func(t *rapid.T) {
		context, q := drawQuestion(t)
		o := drawOptions(t)
		d := &squad.Dataset{Paragraphs: []squad.Paragraph{{Context: context}}, Questions: []squad.Question{q}}
		purpose := squad.Train
		if len(q.Answers) == 0 {
			purpose = squad.Predict
		}
		f, err := squad.NewFeatures(d, tok.NewEncoder(), o, purpose)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Unfound) > 0 {
			if f.Len() != 0 {
				t.Fatalf("%d windows of a question that was left out", f.Len())
			}
			return
		}
		got := []plainWindow{}
		for i := range f.Len() {
			got = append(got, plainOf(f, tok, i))
		}
		want := append([]plainWindow{}, plainWindows(tok, o, context, q)...)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("context %q, question %+v, %+v (-want +got):\n%s", context, q, o, diff)
		}
	})
}

// At real sizes the share that a window's length has in the choice of the best one
// counts: the last window is the shortest.
func TestLongParagraphsAreCutAsByThePlainVersion(t *testing.T) {
	tok := testTokenizer(t, true)
	for _, o := range []squad.Options{{MaxSeqLength: 384, DocStride: 128, MaxQueryLength: 64}, {MaxSeqLength: 320, DocStride: 300, MaxQueryLength: 4}} {
		for _, pieces := range []int{379, 380, 400, 509, 640, 700, 1100} {
			context, q := strings.TrimSpace(strings.Repeat("a ", pieces)), squad.Question{ID: "q", Text: "b?"}
			d := &squad.Dataset{Paragraphs: []squad.Paragraph{{Context: context}}, Questions: []squad.Question{q}}
			f, err := squad.NewFeatures(d, tok.NewEncoder(), o, squad.Predict)
			if err != nil {
				t.Fatal(err)
			}
			var got []plainWindow
			for i := range f.Len() {
				got = append(got, plainOf(f, tok, i))
			}
			if diff := gocmp.Diff(plainWindows(tok, o, context, q), got); diff != "" {
				t.Errorf("%d pieces, %+v (-want +got):\n%.1000s", pieces, o, diff)
			}
		}
	}
}

// plainOf puts a window, as it stands in a batch, in the plain version's form.
func plainOf(f *squad.Features, tok *tokenize.Tokenizer, i int) plainWindow {
	var b trainer.Batch
	f.Append(&b, i, 7)
	w := f.Window(i)
	out := plainWindow{Start: w.Start, From: int(b.Starts[0]), To: int(b.Ends[0])}
	n := w.Tokens()
	for j, id := range b.IDs {
		segment := int32(0)
		if j >= w.Offset && j < n {
			segment = 1
		}
		if b.Segments[j] != segment || j >= n && id != tok.Vocab().PAD() || b.Sequence[0] != 7 {
			panic(fmt.Sprintf("batch %+v", b))
		}
		if j < n {
			out.Tokens = append(out.Tokens, tok.Vocab().Token(id))
		}
	}
	if f.Tokens(i) != len(b.IDs) || f.Options().Pad != (len(b.VisibleKeys) == 1 && int(b.VisibleKeys[0]) == n) {
		panic(fmt.Sprintf("window of %d tokens, %d visible %v", f.Tokens(i), n, b.VisibleKeys))
	}
	for p := range w.Pieces {
		out.WordOf, out.MaxContext = append(out.WordOf, w.WordOf(p)), append(out.MaxContext, w.MaxContext(p))
	}
	return out
}

// plainPredict is write_predictions of run_squad.py for one question, in its
// plain form, up to the text of a pair.
func plainPredict(f *squad.Features, o squad.PredictOptions, logits [][]float32, text func(window, from, to int) string) squad.Prediction {
	type pair struct {
		window, from, to int
		start, end       float64
	}
	var pairs []pair
	null, odds := pair{}, 1000000.0
	for k := range f.Len() {
		w := f.Window(k)
		start, end := column(logits[k], 0), column(logits[k], 1)
		if s := start[0] + end[0]; f.Options().Negatives && s < odds {
			null, odds = pair{window: k, start: start[0], end: end[0]}, s
		}
		inside := func(i int) bool { return i >= w.Offset && i < w.Offset+len(w.Pieces) }
		for _, s := range plainLargest(start, o.NBestSize) {
			for _, e := range plainLargest(end, o.NBestSize) {
				if inside(s) && inside(e) && w.MaxContext(s-w.Offset) && e >= s && e-s+1 <= o.MaxAnswerLength {
					pairs = append(pairs, pair{k, s, e, start[s], end[e]})
				}
			}
		}
	}
	if f.Options().Negatives {
		pairs = append(pairs, null)
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.start+b.end, a.start+a.end) })
	var out squad.Prediction
	seen := map[string]bool{}
	for _, p := range pairs {
		if len(out.NBest) >= o.NBestSize {
			break
		}
		s := ""
		if p.from > 0 {
			if s = text(p.window, p.from, p.to); seen[s] {
				continue
			}
		}
		seen[s] = true
		out.NBest = append(out.NBest, squad.Candidate{Text: s, StartLogit: p.start, EndLogit: p.end})
	}
	if f.Options().Negatives && !seen[""] {
		out.NBest = append(out.NBest, squad.Candidate{StartLogit: null.start, EndLogit: null.end})
	}
	if len(out.NBest) == 0 {
		out.NBest = []squad.Candidate{{Text: "empty"}}
	}
	sum := 0.0
	for _, c := range out.NBest {
		sum += math.Exp(c.StartLogit + c.EndLogit)
	}
	best := -1
	for i, c := range out.NBest {
		out.NBest[i].Probability = math.Exp(c.StartLogit+c.EndLogit) / sum
		if best < 0 && c.Text != "" {
			best = i
		}
	}
	if !f.Options().Negatives {
		out.Text = out.NBest[0].Text
	} else if out.NullOdds = odds; best >= 0 {
		c := out.NBest[best]
		if out.NullOdds = odds - c.StartLogit - c.EndLogit; out.NullOdds <= o.NullThreshold {
			out.Text = c.Text
		}
	}
	return out
}

func column(logits []float32, c int) (out []float64) {
	for i := c; i < len(logits); i += 2 {
		out = append(out, float64(logits[i]))
	}
	return out
}

func plainLargest(v []float64, n int) []int {
	at := make([]int, len(v))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(v[b], v[a]) })
	return at[:min(n, len(at))]
}

// whiteWords splits at what run_squad.py takes for white space.
func whiteWords(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(" \t\r\n\u202f", r) })
}

func TestAnswersAreThoseOfThePlainVersion(t *testing.T) {
	tok := testTokenizer(t, true)
	rapid.Check(t, func(t *rapid.T) {
		context, q := drawQuestion(t)
		o := drawOptions(t)
		o.Negatives = rapid.Bool().Draw(t, "negatives")
		d := &squad.Dataset{Paragraphs: []squad.Paragraph{{Context: context}}, Questions: []squad.Question{q}}
		f, err := squad.NewFeatures(d, tok.NewEncoder(), o, squad.Predict)
		if err != nil {
			t.Fatal(err)
		}
		po := squad.PredictOptions{NBestSize: rapid.IntRange(1, 5).Draw(t, "n_best_size"), MaxAnswerLength: rapid.IntRange(1, 8).Draw(t, "max_answer_length"),
			NullThreshold: rapid.Float64Range(-2, 2).Draw(t, "threshold")}
		p, err := squad.NewPredictor(f, po)
		if err != nil {
			t.Fatal(err)
		}
		var logits [][]float32
		for i := range f.Len() {
			n := 2 * f.Tokens(i)
			row := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float32 { return float32(rapid.IntRange(-4, 4).Draw(t, "")) / 2 }), n, n).Draw(t, "logits")
			logits = append(logits, row)
			if err := p.Take(i, row); err != nil {
				t.Fatal(err)
			}
		}
		texts := func(window, from, to int) string {
			w := f.Window(window)
			var pieces []string
			for _, id := range w.Pieces[from-w.Offset : to-w.Offset+1] {
				pieces = append(pieces, tok.Vocab().Token(id))
			}
			words := whiteWords(context)
			return squad.FinalText(strings.ReplaceAll(strings.ReplaceAll(strings.Join(pieces, " "), " ##", ""), "##", ""),
				strings.Join(words[w.WordOf(from-w.Offset):w.WordOf(to-w.Offset)+1], " "), true)
		}
		want := plainPredict(f, po, logits, texts)
		got := p.Predictions()
		if len(got) != 1 {
			t.Fatalf("%d predictions", len(got))
		}
		for i, c := range got[0].NBest {
			if part := context[c.From:c.To]; strings.Join(whiteWords(part), " ") != c.Text && c.Text != "empty" {
				t.Fatalf("context %q: %+v stands at %q", context, c, part)
			}
			got[0].NBest[i].From, got[0].NBest[i].To = 0, 0
		}
		near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-12*max(1, math.Abs(a)) })
		if diff := gocmp.Diff(want, got[0], near); diff != "" {
			t.Fatalf("context %q, %+v, %+v (-want +got):\n%s", context, o, po, diff)
		}
	})
}
