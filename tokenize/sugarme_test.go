//go:build !386 && !arm && !mips && !mipsle

package tokenize_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sugarme/tokenizer/model/wordpiece"

	"pretext/internal/dev/realdata"
)

func TestASugarmeModelGivesTheSamePieces(t *testing.T) {
	path := realdata.Path(t, "vocab/bert-base-uncased-vocab.txt")
	model, err := wordpiece.NewWordPieceFromFile(path, "[UNK]", 200)
	if err != nil {
		t.Fatal(err)
	}
	e, words := newEncoder(t, vocabFile(t, "vocab/bert-base-uncased-vocab.txt"), true), splitter(t, true)
	for i, line := range slices.Concat(englishLines(t), multilingualLines(t)) {
		if i%4 != 0 {
			continue
		}
		var want []int32
		for word := range words.Words(line) {
			tokens, err := model.Tokenize(string(word))
			if err != nil {
				t.Fatal(err)
			}
			for _, token := range tokens {
				want = append(want, int32(token.Id))
			}
		}
		if diff := cmp.Diff(want, e.AppendIDs(nil, line)); diff != "" {
			t.Errorf("%q (-sugarme +got):\n%s", line, diff)
		}
	}
}
