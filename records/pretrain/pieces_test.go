package pretrain

import (
	"context"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/records"
)

func TestEachTokenIsInOneRecordOfPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 60)
		o := Options{MaxSeqLength: rapid.IntRange(3, 90).Draw(t, "max_seq_length"), DupeFactor: 1, PackSlack: rapid.SampledFrom([]float64{0, 0.05, 0.3, 0.9}).Draw(t, "slack")}
		v := smallVocab(30)
		v.Mask, v.Pad = -1, -1
		b, err := newSlicer(o, v)
		if err != nil {
			t.Fatal(err)
		}
		rules := records.Rules{Form: records.Pieces, MaxSeqLength: o.MaxSeqLength, VocabSize: 30, CLS: v.CLS, SEP: v.SEP}
		corpus := corpusOf(t, 30, documents)
		made := build(t, b, corpus, rules) // which checks the rules: [CLS] first, [SEP] last, not too long
		var got, want []string
		for _, e := range made {
			got = append(got, key(e.InputIDs))
		}
		cut := int64(0)
		for _, d := range documents {
			pieces := plainPieces(d, o.MaxSeqLength-2, int(o.PackSlack*float64(o.MaxSeqLength)))
			for _, p := range pieces {
				want = append(want, key(slices.Concat([]int32{v.CLS}, p, []int32{v.SEP})))
			}
			if len(pieces) > 1 {
				cut++
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %d pieces, want %d: other texts", len(got), len(want))
		}
		counts, err := b.Build(context.Background(), corpus, 7, func(Record) error { return nil })
		if err != nil || counts.CutDocuments != cut {
			t.Fatalf("%d documents were cut, want %d; %v", counts.CutDocuments, cut, err)
		}
		again := build(t, b, corpus, rules) // a slicer uses its memory again
		for i := range made {
			if !slices.Equal(made[i].InputIDs, again[i].InputIDs) {
				t.Fatalf("record %d differs the second time", i)
			}
		}
	})
}

// plainPieces cuts a document, token by token: a piece ends at the last end of a sentence
// that leaves at most slack of room empty, else where room is full.
func plainPieces(document [][]int32, room, slack int) (pieces [][]int32) {
	ends := map[int]bool{}
	text := join(document)
	n := 0
	for _, sentence := range document {
		n += len(sentence)
		ends[n] = true
	}
	for at := 0; at < len(text); {
		end := min(at+room, len(text))
		for back := range slack + 1 {
			if end < len(text) && end-back > at && ends[end-back] {
				end -= back
				break
			}
		}
		pieces = append(pieces, text[at:end])
		at = end
	}
	return pieces
}

func TestThePlannedNumberOfPiecesIsNearTheOneMade(t *testing.T) {
	recipe, _ := RecipeByName("pieces")
	corpus := proseCorpus(t, 1000)
	for _, seq := range []int{16, 128, 512, 4096} {
		o := recipe.Defaults
		o.MaxSeqLength = seq
		b, err := newSlicer(o, benchVocab())
		if err != nil {
			t.Fatal(err)
		}
		counts, err := b.Build(t.Context(), corpus, 1, func(Record) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := recipe.Expect(o, float64(corpus.Tokens()), 1000) / float64(counts.Examples); want < 0.9 || want > 1.1 {
			t.Errorf("%d pieces of %d tokens, %.2f times as many were planned", counts.Examples, seq, want)
		}
	}
	o := recipe.Defaults
	if none, some := recipe.Expect(o, 0, 0), recipe.Expect(o, 5100, 0); none != 0 || some != 10 {
		t.Errorf("got %v and %v pieces of unknown documents, want 0 and 10", none, some)
	}
}

// Another seed gives another order of the same pieces, and the pieces of a long document
// are not beside each other.
func TestPiecesAreShuffled(t *testing.T) {
	v := benchVocab()
	b, err := newSlicer(Options{MaxSeqLength: 64, DupeFactor: 1, PackSlack: 0.01}, v)
	if err != nil {
		t.Fatal(err)
	}
	document := make([]int32, 1_000_000) // one sentence of one document
	for i := range document {
		document[i] = int32(1000 + i/62)
	}
	orders := map[int64][]int32{}
	for _, seed := range []int64{1, 2} {
		_, err := b.Build(t.Context(), corpusOf(t, v.Size, [][][]int32{{document}}), seed, func(r Record) error {
			var e records.Example
			if err := e.DecodeForm(records.Pieces, r.Payload); err != nil {
				return err
			}
			orders[seed] = append(orders[seed], e.InputIDs[1])
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	neighbours, same := 0, 0
	for i, first := range orders[1] {
		if i > 0 && first == orders[1][i-1]+1 {
			neighbours++
		}
		if first == orders[2][i] {
			same++
		}
	}
	if n := len(orders[1]); n != 16130 || neighbours > 10 || same > 10 {
		t.Errorf("%d pieces, %d after the one before it, %d in the same place with another seed", n, neighbours, same)
	}
	slices.Sort(orders[1])
	slices.Sort(orders[2])
	if !slices.Equal(orders[1], orders[2]) {
		t.Error("another seed gives other pieces")
	}
}
