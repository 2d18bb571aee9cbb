// Package records defines the training example and its wire format: the
// tf.train.Example message of the original BERT release.
//
// Writing and reading back:
//
//	payload = example.Append(payload[:0])
//	...
//	var example records.Example // Decode reuses its slices
//	if err := example.Decode(payload); err != nil {
//		return err // a *FeatureError
//	}
//	if err := rules.Check(&example); err != nil { // a Rules: is it sound BERT input?
//		return err
//	}
//
// Code that builds many examples should store them as [Parts] and serialize
// them with an [Encoder]: the bytes are the same, at a fraction of the cost.
// For records with other content, [Features] lists the features of any
// tf.train.Example.
//
// # Features
//
// S is max_seq_length and P max_predictions_per_seq; both are the same for all
// examples of a run. Names, types and padding are those of
// google-research/bert, create_pretraining_data.py.
//
//	name                  type      values  meaning
//	input_ids             int64     S       [CLS] A [SEP] B [SEP] with masks, then 0 (see [NewEncoder])
//	input_mask            int64     S       1 for each token, then 0
//	segment_ids           int64     S       0 up to and with the first [SEP], 1 for B [SEP], then 0
//	masked_lm_positions   int64     P       positions to predict, ascending, then 0
//	masked_lm_ids         int64     P       the original ids at these positions, then 0
//	masked_lm_weights     float     P       1 for each prediction, then 0
//	next_sentence_labels  int64     1       0: B follows A in the document; 1: B is random
//
// These are the features of the form [Pairs]. [Masked] has no
// next_sentence_labels, its segment_ids are all 0, and input_ids are [CLS] text
// [SEP], where text of several documents has [SEP] between them. The other
// forms have no masks:
//
//	form       name              type   values     meaning
//	Tokens     input_ids         int64  any        the ids of a document, without special tokens
//	Packed     input_ids         int64  S          pieces, each [CLS] text [SEP], then padding
//	           sequence_lengths  int64  pieces     tokens of each piece; together at most S
//	Sentences  input_ids         int64  any        as of Tokens
//	           sentence_lengths  int64  sentences  tokens of each sentence; together all
//	Pieces     input_ids         int64  any        [CLS] text [SEP], at most S
//
// # Wire format
//
//	Example        1: Features
//	└ Features     1: map entry, one for each feature, in the order above
//	  └ entry      1: name (string)   2: Feature
//	    └ Feature  2: FloatList or 3: Int64List
//	      └ list   1: values, packed: 4-byte floats or varints
//
// The numbers are field numbers of tensorflow/core/example/example.proto and
// feature.proto. [Example.Append] packs every list and uses the shortest
// varints. Protocol buffers do not define the order of map entries; Append
// writes them in the order in which the original script inserts them, which the
// pure-Python protobuf implementation keeps. Equal examples have equal bytes.
//
// [Example.Decode] accepts any valid encoding: features in another order,
// unpacked lists, overlong varints, unknown fields and additional features. It
// also accepts the names input_word_ids and input_type_ids of TensorFlow's
// model garden for input_ids and segment_ids. A feature that is missing, of the
// wrong type or length, or beyond an int32 is a [FeatureError].
//
// # Concurrency
//
// An Example must not be used by two goroutines at once; an Encoder may be
// shared. The package has no global state.
package records
