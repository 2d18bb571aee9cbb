package pretrain

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/records"
)

// lengthsOf returns the lengths of the sentences of a document, by a simple method: a
// sentence that is too long is dealt out token by token.
func lengthsOf(document [][]int32) (lengths []int32) {
	for _, s := range document {
		parts := make([]int32, (len(s)-1)/512+1)
		for i := range s {
			parts[i%len(parts)]++
		}
		lengths = append(lengths, parts...)
	}
	return lengths
}

// splitSentences builds records of the form Sentences.
func splitSentences(t *rapid.T, documents [][][]int32, longest int) []*records.Example {
	b, err := newSentenceSplitter(Options{MaxSeqLength: longest, DupeFactor: 1}, smallVocab(30))
	if err != nil {
		t.Fatal(err)
	}
	return build(t, b, corpusOf(t, 30, documents), records.Rules{Form: records.Sentences, MaxSeqLength: longest, VocabSize: 30})
}

func TestRecordsOfSentencesHaveTheLengthsOfSentences(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 2000)
		left := map[string][]int32{} // sorted lengths by document
		for _, d := range documents {
			left[key(join(d))] = slices.Sorted(slices.Values(lengthsOf(d)))
		}
		for i, e := range splitSentences(t, documents, records.MaxValues) {
			got := slices.Sorted(slices.Values(e.SentenceLengths))
			if want, ok := left[key(e.InputIDs)]; !ok || !slices.Equal(got, want) {
				t.Fatalf("record %d: sentences of %d tokens, want %d", i, got, want)
			}
			if err := sentencesRecipe().Check(Options{}, records.Rules{}, e); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Documents that are cut keep their ids: those of the recipe tokens.
func TestRecordsOfSentencesHaveTheIDsOfTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		documents := wordDocuments(t, 60)
		longest := rapid.IntRange(1, 80).Draw(t, "max_seq_length")
		b, err := NewSplitter(Options{MaxSeqLength: longest, DupeFactor: 1}, smallVocab(30))
		if err != nil {
			t.Fatal(err)
		}
		want := build(t, b, corpusOf(t, 30, documents), records.Rules{Form: records.Tokens})
		got := splitSentences(t, documents, longest)
		if len(got) != len(want) {
			t.Fatalf("%d records, want %d", len(got), len(want))
		}
		for i := range got {
			if !slices.Equal(got[i].InputIDs, want[i].InputIDs) {
				t.Fatalf("record %d has the ids %d, want %d", i, got[i].InputIDs, want[i].InputIDs)
			}
		}
	})
}

func TestSentencesOfRecords(t *testing.T) {
	long := slices.Repeat([]int32{9}, 1030)
	c := corpusOf(t, 30, [][][]int32{{{4}}, {{5, 6, 7}, long, {8, 8}}})
	whole := c.document(1)
	for _, part := range []struct {
		s    span
		want []int32
	}{
		{whole, []int32{3, 343, 343, 344, 2}},
		{span{whole.from, whole.from + 5}, []int32{3, 2}},
		{span{whole.from + 2, whole.from + 515}, []int32{1, 512}},
		{span{whole.from + 4, whole.to}, []int32{343, 343, 343, 2}},
		{span{whole.to - 1, whole.to}, []int32{1}},
	} {
		if got := c.sentenceLengths(nil, 1, part.s); !slices.Equal(got, part.want) {
			t.Errorf("tokens %d to %d: %d, want %d", part.s.from, part.s.to, got, part.want)
		}
	}
	err := sentencesRecipe().Check(Options{}, records.Rules{}, &records.Example{SentenceLengths: []int32{1, 513}})
	if err == nil || !strings.Contains(err.Error(), "a sentence of 513 tokens, want at most 512") {
		t.Errorf("got %v", err)
	}
}
