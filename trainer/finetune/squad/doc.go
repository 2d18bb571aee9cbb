// Package squad answers questions about paragraphs: SQuAD 1.1 and 2.0. It reads
// files, makes windows and decodes answers as run_squad.py of
// google-research/bert does, and computes the official metrics.
//
//	data, err := squad.Read("train-v2.0.json", bytes)
//	…
//	features, err := squad.NewFeatures(data, encoder, options, squad.Train)
//	source, err := finetune.NewSource(features, …)   // to train on
//
//	predictor, err := squad.NewPredictor(features, squad.DefaultPredictOptions())
//	finetune.Forward{Model: model, Heads: heads, Tokens: tokens}.Each(ctx, features, predictor.Take)
//	predictor.Predictions()                          // to answer
//
// # Windows
//
// A paragraph is split at white space (blank, tab, CR, LF, U+202F) into words,
// each of which becomes word pieces. An example is a window:
//
//	[CLS] question [SEP] pieces of the paragraph [SEP]
//	  0       0      0              1              1     segment
//
// A question is truncated to MaxQueryLength pieces. The rest of the window is
// for the paragraph: windows start every DocStride pieces, until one reaches
// the end of the paragraph.
//
//	paragraph  p0 p1 p2 p3 p4 p5 p6 p7 p8 p9
//	window 0   p0 p1 p2 p3 p4 p5
//	window 1            p3 p4 p5 p6 p7 p8        DocStride = 3
//	window 2                     p6 p7 p8 p9
//
// The answer is narrowed to the pieces that spell it. A window that does not
// contain all pieces of the answer has [CLS] as its answer. Answers that start at a
// piece in several windows are used only from the window where this piece has the most
// context: the largest min(left, right) + 0.01·(pieces in the window), or the first of
// equals.
//
// Windows are made on demand, so memory is proportional to the size of the file and not
// to the number of windows.
//
// The reference pads windows to MaxSeqLength, and its softmax includes the padding.
// With Options.Pad, this package does the same. Otherwise nothing is computed for
// padding. This is faster, but differs from the reference: training changes slightly,
// and padding tokens are never among a window's best starts and ends.
//
// # Answers
//
// The best starts and ends of each window are combined to pairs. A pair must lie in
// the paragraph, must not end before it starts, and has at most MaxAnswerLength pieces.
// Pairs are sorted by the sum of their logits. To find the text of a pair, its pieces
// are aligned with the paragraph's words, ignoring blanks. See write_predictions of
// run_squad.py.
//
// # Concurrency
//
// A Dataset and Features are immutable and may be shared. A Predictor must not
// be used by several goroutines at once.
package squad
