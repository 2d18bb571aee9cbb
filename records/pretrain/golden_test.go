package pretrain_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"pretext/internal/dev/realdata"
	"pretext/records"
	"pretext/records/pretrain"
	"pretext/records/tfrecord"
	"pretext/tokenize"
)

// flags are the flags of one run of the original script.
type flags struct {
	pretrain.Options
	VocabFile   string `json:"vocab_file"`
	DoLowerCase bool   `json:"do_lower_case"`
	RandomSeed  int64  `json:"random_seed"`
}

// isBlank tells what Python's str.strip takes off.
func isBlank(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// addText adds files of the original's text format to a corpus: a sentence a
// line, a blank line between documents, all files one stream of lines, CR
// dropped.
func addText(t testing.TB, corpus *pretrain.Corpus, enc *tokenize.Encoder, files ...[]byte) {
	t.Helper()
	var ids []int32
	for _, file := range files {
		for line := range strings.Lines(strings.ReplaceAll(string(file), "\r", "")) {
			line = strings.TrimFunc(line, isBlank)
			if line == "" {
				corpus.EndDocument()
			}
			ids = enc.AppendIDs(ids[:0], line)
			if err := corpus.AddSentence(ids); err != nil {
				t.Fatal(err)
			}
		}
	}
	corpus.EndDocument()
}

// realVocab reads a vocabulary of the real data.
func realVocab(t testing.TB, name string) *tokenize.Vocab {
	t.Helper()
	return readVocab(t, name, realdata.Read(t, strings.TrimPrefix(name, "shared/data/")))
}

func readVocab(t testing.TB, name string, raw []byte) *tokenize.Vocab {
	t.Helper()
	v, err := tokenize.ReadVocab(name, raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func vocabOf(v *tokenize.Vocab) pretrain.Vocab {
	return pretrain.NewVocab(v)
}

// run builds the framed records of a run over text files.
func run(t testing.TB, f flags, v *tokenize.Vocab, outputs int, files ...[]byte) [][]byte {
	t.Helper()
	o := tokenize.DefaultOptions()
	o.DoLowerCase = f.DoLowerCase
	tok, err := tokenize.New(v, o)
	if err != nil {
		t.Fatal(err)
	}
	corpus := pretrain.NewCorpus(v.Len())
	addText(t, corpus, tok.NewEncoder(), files...)
	b, err := pretrain.NewBuilder(f.Options, vocabOf(v), pretrain.Scratch{})
	if err != nil {
		t.Fatal(err)
	}
	rules := records.Rules{MaxSeqLength: f.MaxSeqLength, MaxPredictionsPerSeq: f.MaxPredictionsPerSeq,
		VocabSize: v.Len(), CLS: v.CLS(), SEP: v.SEP()}
	out := make([][]byte, outputs)
	n := 0
	_, err = b.Build(context.Background(), corpus, f.RandomSeed, func(r pretrain.Record) error {
		out[n%outputs] = tfrecord.AppendFrame(out[n%outputs], r.Payload)
		n++
		var e records.Example
		if err := e.Decode(r.Payload); err != nil {
			return err
		}
		return rules.Check(&e)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// readExamples decodes every record of a file, compressed or not.
func readExamples(t testing.TB, file []byte) []*records.Example {
	t.Helper()
	var out []*records.Example
	r := tfrecord.NewReader(bytes.NewReader(file), tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		e := new(records.Example)
		if err := e.Decode(payload); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
}

// uncompressed returns the frames of a file as they are before compression.
func uncompressed(t testing.TB, file []byte) []byte {
	t.Helper()
	var out []byte
	r := tfrecord.NewReader(bytes.NewReader(file), tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = tfrecord.AppendFrame(out, payload)
	}
}

// checkValues compares records value by value, in order.
func checkValues(t testing.TB, got, want []byte) {
	t.Helper()
	gotExamples, wantExamples := readExamples(t, got), readExamples(t, want)
	if len(gotExamples) != len(wantExamples) {
		t.Errorf("got %d examples, want %d", len(gotExamples), len(wantExamples))
	}
	for i := range min(len(gotExamples), len(wantExamples)) {
		if diff := cmp.Diff(wantExamples[i], gotExamples[i]); diff != "" {
			t.Fatalf("example %d (-want +got):\n%s", i, diff)
		}
	}
}

// checkBytes compares the bytes, and the values for a readable difference.
func checkBytes(t testing.TB, got, want []byte) {
	t.Helper()
	if len(want) == 0 {
		t.Error("nothing to compare with")
	}
	if !bytes.Equal(got, want) {
		checkValues(t, got, want)
		t.Error("the bytes differ")
	}
}

// The runs of testdata/demo need nothing but this repository: Google's script
// over the text of the demo corpus.
func TestExamplesAreThoseOfTheOriginalOnTheDemosText(t *testing.T) {
	const dir = "testdata/demo/"
	var runs []struct {
		Name  string
		Flags flags
	}
	if err := json.Unmarshal(readFile(t, dir+"runs.json"), &runs); err != nil {
		t.Fatal(err)
	}
	if len(runs) < 3 {
		t.Fatalf("got %d runs, want 3", len(runs))
	}
	for _, r := range runs {
		t.Run(r.Name, func(t *testing.T) {
			v := readVocab(t, "vocab.txt", readFile(t, dir+"vocab.txt"))
			got := run(t, r.Flags, v, 1, readFile(t, dir+"input.txt"))
			want := uncompressed(t, readFile(t, dir+r.Name+".tfrecord.gz"))
			checkBytes(t, got[0], want)
			if n := len(readExamples(t, want)); n < 300 {
				t.Errorf("compared %d examples, want at least 300", n)
			}
		})
	}
}

func TestExamplesAreThoseOfTheOriginalUnderTensorFlow(t *testing.T) {
	reports, err := filepath.Glob(filepath.Join(realdata.Path(t, "golden/tf"), "*.json"))
	if err != nil || len(reports) == 0 {
		t.Fatalf("got %d runs, %v", len(reports), err)
	}
	for _, report := range reports {
		t.Run(strings.TrimSuffix(filepath.Base(report), ".json"), func(t *testing.T) { checkRun(t, report) })
	}
}

// checkRun builds what the run did that a JSON file reports, and compares
// values, bytes and hashes of all outputs.
func checkRun(t *testing.T, report string) {
	raw, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Inputs  []struct{ Path string }
		Flags   flags
		Outputs []struct {
			File   string
			SHA256 string `json:"tfrecord_sha256"`
		}
	}
	if err := json.Unmarshal(raw, &g); err != nil {
		t.Fatal(err)
	}
	var inputs [][]byte
	for _, in := range g.Inputs {
		inputs = append(inputs, realdata.Read(t, strings.TrimPrefix(in.Path, "shared/data/")))
	}
	got := run(t, g.Flags, realVocab(t, g.Flags.VocabFile), len(g.Outputs), inputs...)
	for i, out := range g.Outputs {
		file, err := os.ReadFile(filepath.Join(filepath.Dir(report), out.File))
		if err != nil {
			t.Fatal(err)
		}
		checkBytes(t, got[i], uncompressed(t, file))
		if sum := sha256.Sum256(got[i]); hex.EncodeToString(sum[:]) != out.SHA256 {
			t.Errorf("%s: got sha256 %x, want %s", out.File, sum, out.SHA256)
		}
	}
}

func TestExamplesAreThoseOfTheOriginalUnderPython(t *testing.T) {
	with := func(change func(o *pretrain.Options)) pretrain.Options {
		o := pretrain.DefaultOptions()
		change(&o)
		return o
	}
	const uncased, cased = "vocab/bert-base-uncased-vocab.txt", "vocab/bert-base-cased-vocab.txt"
	for name, f := range map[string]flags{
		"uncased-128-dupe2": {with(func(o *pretrain.Options) { o.DupeFactor = 2 }), uncased, true, 12345},
		"cased-512-dupe1": {with(func(o *pretrain.Options) {
			o.DupeFactor, o.MaxSeqLength, o.MaxPredictionsPerSeq = 1, 512, 76
		}), cased, false, 12345},
		"uncased-128-wwm": {with(func(o *pretrain.Options) { o.DupeFactor, o.DoWholeWordMask = 1, true }), uncased, true, 42},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, f, realVocab(t, f.VocabFile), 1, realdata.Read(t, "golden/pretraining/input.txt"))
			checkBytes(t, got[0], uncompressed(t, realdata.Read(t, "golden/pretraining/"+name+".tfrecord.gz")))
		})
	}
}

// The published samples were written by TensorFlow, in another order of
// features: the values count.
func TestExamplesAreThoseOfThePublishedSamples(t *testing.T) {
	for name, dupe := range map[string]int{"sample_text-dupe5": 5, "sample_text-dupe10": 10} {
		t.Run(name, func(t *testing.T) {
			f := flags{pretrain.DefaultOptions(), "vocab/bert-base-uncased-vocab.txt", true, 12345}
			f.DupeFactor = dupe
			got := run(t, f, realVocab(t, f.VocabFile), 1, realdata.Read(t, "tfrecord/bert-pretraining/sample_text.txt"))
			checkValues(t, got[0], realdata.Read(t, "tfrecord/bert-pretraining/"+name+".tfrecord"))
		})
	}
}

func TestOptionsTravelAsJSONUnderTheOriginalNames(t *testing.T) {
	want := pretrain.DefaultOptions()
	want.DoWholeWordMask = true
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"max_seq_length":128,"max_predictions_per_seq":20,"masked_lm_prob":0.15,` +
		`"short_seq_prob":0.1,"dupe_factor":10,"do_whole_word_mask":true}`
	if string(raw) != text {
		t.Errorf("got  %s\nwant %s", raw, text)
	}
	var got pretrain.Options
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
