package convert

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/failure"
	"pretext/pipeline/stage"
	"pretext/records"
	"pretext/records/tfrecord"
)

// An id that the chosen type cannot hold is the fault of the option, not of the shards,
// whether the vocabulary says so before or the record does.
func TestIDsThatDoNotFitAreAWrongOption(t *testing.T) {
	for want, vocabulary := range map[string]bool{"the vocabulary has 70001 ids, and uint16 holds 65536": true, "value 1 is 70000: outside of the range of uint16": false} {
		in := t.TempDir()
		var b bytes.Buffer
		w := tfrecord.NewWriter(&b, tfrecord.WriterOptions{})
		err := w.Write((&records.Example{InputIDs: []int32{5, 70000}, NextSentenceLabel: records.NoLabel}).AppendForm(nil, records.Tokens))
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		write := func(name, content string) {
			if err := os.WriteFile(filepath.Join(in, name), []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		write("a.tfrecord", b.String())
		if vocabulary {
			words := strings.Builder{}
			for i := range 70000 {
				words.WriteString("w" + strings.Repeat("a", i%7) + string(rune(0x4e00+i%20000)) + string(rune('a'+i/20000)) + "\n")
			}
			write("vocab.txt", "[UNK]\n"+words.String())
		}
		_, err = Run(t.Context(), stage.Runner{Name: stage.Direct, Workers: 1}, Config{Target: stage.Target{Out: t.TempDir()}, Shards: in, Format: "npy", Int: "uint16"})
		if !failure.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want a usage error with %q", err, want)
		}
	}
}

// Masks that labels would lose are refused, and not written as others.
func TestMasksThatLabelsLoseAreRefused(t *testing.T) {
	sound := records.Example{InputIDs: []int32{2, 4, 4, 3}, InputMask: []int32{1, 1, 1, 1}, SegmentIDs: make([]int32, 4),
		MaskedLMPositions: []int32{1, 2}, MaskedLMIDs: []int32{7, 8}, MaskedLMWeights: []float32{1, 1}}
	weights, order := sound, sound
	weights.MaskedLMWeights = []float32{1, 0.5}
	order.MaskedLMPositions = []int32{2, 1}
	for what, e := range map[string]*records.Example{"": &sound, "weights": &weights, "order": &order} {
		in := t.TempDir()
		var b bytes.Buffer
		w := tfrecord.NewWriter(&b, tfrecord.WriterOptions{})
		if err := w.Write(e.Append(nil)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(in, "a.tfrecord"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := Run(t.Context(), stage.Runner{Name: stage.Direct, Workers: 1}, Config{Target: stage.Target{Out: t.TempDir()}, Shards: in, For: "hf-trainer"})
		if what == "" && err != nil || what != "" && (!failure.IsUsage(err) || !strings.Contains(err.Error(), "cannot hold its masks")) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}
