// Package pretrain turns documents of token ids into training examples of BERT,
// for masked language modelling and next-sentence prediction. Given the same
// documents, vocabulary, options and seed, it makes the same examples as
// create_pretraining_data.py of google-research/bert under CPython 3, value for
// value and in the same order, because it makes the same random draws.
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
//	document   s1 s2 s3 s4 s5 ...          sentences until the example is full
//	segments   [CLS] s1 s2 [SEP] s3 s4 s5 [SEP]       label 0: B follows A
//	or         [CLS] s1 s2 [SEP] t7 t8 t9 [SEP]       label 1: B is random; s3 is used again
//	masked     [CLS] w1 [MASK] w3 [SEP] ...           labels keep the original ids
//
// The steps:
//
//  1. The documents are shuffled once. Then every document is walked DupeFactor
//     times.
//  2. The walk gathers sentences until they fill an example. With probability
//     ShortSeqProb, drawn once for each document and walk, the target is
//     shorter.
//  3. The gathered sentences are cut in two at a random sentence. The first
//     part is segment A.
//  4. Segment B is the second part (label 0) or a passage of another document
//     (label 1). The choice is random, half each; with only one sentence it is
//     always the other document. With label 1 the second part is gathered
//     again.
//  5. While the two are too long, the longer segment loses a token at a random
//     end.
//  6. The fraction MaskedLMProb of the tokens is predicted. Of these, 80 %
//     become [MASK], 10 % stay, and 10 % become a random entry of the
//     vocabulary.
//  7. At the end all examples are shuffled.
//
// # Oddities of the original
//
// These behaviours of the original script look like mistakes, but the examples
// depend on them:
//   - The random document can be the document itself, if it is drawn ten times
//     in a row; always so if there is only one document. The label is 1 all the
//     same. [NegativesCorpus] makes such labels right.
//   - With whole-word masking, if B begins inside a word, its first pieces
//     count as part of the last word of A, across the [SEP].
//   - With whole-word masking, an example has no predictions if all its words
//     have more pieces than there are predictions to make.
//   - The number of predictions is rounded half to even, as Python 3 does, and
//     counts [CLS] and [SEP] among the tokens.
//
// # Time, memory and concurrency
//
// Time is linear in the number of examples. As in the original script, a
// sentence far longer than an example is truncated token by token, with a
// random draw each, whenever it is used.
//
// A [Corpus] takes two bytes for each token, or four if the vocabulary has more
// than 65,536 entries or the corpus is from [NewMarkedCorpus], and four bytes
// for each sentence and document. Until the final shuffle, examples wait in the
// [Scratch] in a compact form, about two bytes for each token and three for
// each prediction; beyond a memory budget they go to a file. Their addresses,
// eight bytes each (sixteen while the list grows), stay in memory. With the
// default options and English text, a walk makes an example of 266 bytes for
// every 86 tokens: 16 MiB of text, 4 million tokens, become 480,000 examples in
// 127 MB.
//
// A Corpus that is no longer changed may be shared. A [Builder] reuses its memory in the
// next Build and must not be used by several goroutines at once.
package pretrain
