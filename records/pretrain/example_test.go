package pretrain_test

import (
	"context"
	"fmt"

	"pretext/records"
	"pretext/records/pretrain"
)

// Two documents of two sentences each; a word is its place in the vocabulary.
func Example() {
	words := []string{"[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "moon", "rose", "and", "tide", "##s", "fell", "a", "fox", "slept"}
	vocab := pretrain.Vocab{Size: len(words), CLS: 1, SEP: 2, Mask: 3}
	corpus := pretrain.NewCorpus(vocab.Size)
	for _, document := range [][][]int32{
		{{4, 5, 6}, {4, 8, 9, 10}},
		{{11, 12, 13}, {7, 4, 5, 10}},
	} {
		for _, sentence := range document {
			if err := corpus.AddSentence(sentence); err != nil {
				fmt.Println(err)
			}
		}
		corpus.EndDocument()
	}

	options := pretrain.DefaultOptions()
	options.MaxSeqLength, options.MaxPredictionsPerSeq, options.DupeFactor = 16, 3, 1
	builder, err := pretrain.NewBuilder(options, vocab, pretrain.Scratch{})
	if err != nil {
		fmt.Println(err)
		return
	}
	counts, err := builder.Build(context.Background(), corpus, 12345, func(r pretrain.Record) error {
		var e records.Example
		if err := e.Decode(r.Payload); err != nil {
			return err
		}
		for i, id := range e.InputIDs[:r.Tokens] {
			if i > 0 {
				fmt.Print(" ")
			}
			fmt.Print(words[id])
		}
		fmt.Printf(" | label %d |", e.NextSentenceLabel)
		for i, at := range e.MaskedLMPositions[:r.Predictions] {
			fmt.Printf(" %d was %s", at, words[e.MaskedLMIDs[i]])
		}
		fmt.Println()
		return nil
	})
	fmt.Println(counts.Examples, "examples,", err)
	// Output:
	// [CLS] a fox slept [SEP] and [MASK] moon [MASK] [SEP] | label 0 | 6 was the 8 was fell
	// [CLS] the moon rose [SEP] the tide [MASK] [MASK] [SEP] | label 0 | 7 was ##s 8 was fell
	// 2 examples, <nil>
}
