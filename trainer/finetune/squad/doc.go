// Package squad answers questions about paragraphs: SQuAD 1.1 and 2.0 as
// google-research/bert's run_squad.py reads, windows and decodes them, and their
// official metrics.
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
// A question is cut to MaxQueryLength pieces; the paragraph's pieces are cut into
// windows of what is left, each DocStride after the one before, until one reaches
// the end. The answer's pieces are narrowed to those that spell it; a window that
// does not hold all of them has [CLS] as its answer. A piece that is in several
// windows counts in that where it has most context: the larger of
// min(left, right) + 0.01·(pieces of the window), the earlier of equals.
//
// Windows are made when they are asked for: features take memory in proportion
// to the file, not to the number of windows.
//
// The reference pads windows to MaxSeqLength, and its loss is a softmax over the
// padding too. That is what Options.Pad does; without it no padding is computed,
// which is faster: training takes another path, and no pad takes a place among the
// best starts and ends of a window.
//
// # Answers
//
// Of the best starts and ends of each window, pairs that lie in the paragraph, in
// order and at most MaxAnswerLength apart are sorted by the sum of their logits;
// the text of each is found in the paragraph by aligning it, without blanks, with
// the paragraph's words. See write_predictions of run_squad.py.
//
// # Concurrency
//
// A Dataset and Features do not change and may be shared; a Predictor is for one
// goroutine.
package squad
