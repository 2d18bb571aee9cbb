// Package pretrain turns documents of token ids into the training examples of
// BERT: masked language modelling and next-sentence prediction. With the same
// documents, vocabulary, options and seed its examples are those of
// google-research/bert's create_pretraining_data.py under CPython 3, value for
// value and in the same order, for it makes the same random draws.
//
//	corpus := pretrain.NewCorpus(vocab.Size)
//	for _, document := range documents {
//		for _, sentence := range document {
//			if err := corpus.AddSentence(ids(sentence)); err != nil {
//				return err
//			}
//		}
//		corpus.EndDocument()
//	}
//	builder, err := pretrain.NewBuilder(pretrain.DefaultOptions(), vocab, pretrain.Scratch{})
//	...
//	counts, err := builder.Build(ctx, corpus, 12345, func(r pretrain.Record) error {
//		return writer.Write(r.Payload)
//	})
//
// # How an example is made
//
// The documents are shuffled once. Then every document is walked DupeFactor
// times, in that order: sentences are gathered until they fill an example (or a
// shorter one, with ShortSeqProb, decided once for a document and walk); the
// gathered sentences are cut in two at random. The first part is segment A.
// Segment B is the second part, or, half of the time and always when there is
// one sentence only, a stretch of another document, and the second part is
// gathered again. The longer segment loses a token at a random end until both
// fit. Of the tokens, MaskedLMProb are predicted: eight in ten become [MASK],
// one stays, one becomes any entry of the vocabulary. At the end all examples
// are shuffled.
//
// # What is kept as it is
//
// The walk, the draws and also the oddities of the original are its contract:
//   - After ten draws of its own number a document is its own "other" document,
//     and the label still says so: always, where it is the only one.
//   - With whole words, a B that begins inside a word continues the last word
//     of A, across the [SEP].
//   - With whole words, an example whose words are all longer than the number
//     of predictions has none.
//   - The number of predictions is rounded half to even, as Python 3 does, and
//     counts [CLS] and [SEP] among the tokens.
//
// # Time, memory and concurrency
//
// Time is linear in the examples, but as in the original a sentence far longer
// than an example is cut one draw at a time, each time it is drawn.
//
// A [Corpus] takes two bytes a token (four where the vocabulary has more than
// 65,536 entries, and in a [NewMarkedCorpus]), four a sentence and four a document. Until the last shuffle,
// whose draws depend on their number alone, examples wait in the [Scratch] in a
// compact form, about two bytes a token and three a prediction; their places,
// eight bytes each (twice that while the list grows), stay in memory. With the
// defaults and English text a walk gives an example for every 86 tokens, of 266
// bytes: 16 MiB of text, 4 million tokens, make 480,000 examples in 127 MB. What
// memory is not to hold goes to a file.
//
// A Corpus that is complete may be shared. A [Builder] keeps its memory for the
// next Build and is for one goroutine at a time.
package pretrain
