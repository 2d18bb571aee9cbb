// Package records defines the example, the unit of training, and its wire
// form, the tf.train.Example message that the original BERT release writes and
// reads.
//
// Writing and reading back:
//
//	payload = example.Append(payload[:0])
//	...
//	var example records.Example // reused: its slices are
//	if err := example.Decode(payload); err != nil {
//		return err // a *FeatureError
//	}
//	if err := rules.Check(&example); err != nil { // a Rules: is it sound BERT input?
//		return err
//	}
//
// A builder of many examples keeps them as [Parts] and writes them with an
// [Encoder]: the same bytes at a fraction of the cost. For records that hold
// something else, [Features] lists what any tf.train.Example holds.
//
// # Features
//
// S is max_seq_length and P max_predictions_per_seq; all examples of a run
// have the same. Names, types and padding are those of google-research/bert,
// create_pretraining_data.py.
//
//	name                  type      values  meaning
//	input_ids             int64     S       [CLS] A [SEP] B [SEP] with masks, then 0 (see [NewEncoder])
//	input_mask            int64     S       1 for each token, then 0
//	segment_ids           int64     S       0 up to and with the first [SEP], 1 for B [SEP], then 0
//	masked_lm_positions   int64     P       ascending places to predict, then 0
//	masked_lm_ids         int64     P       the ids that stood there, then 0
//	masked_lm_weights     float     P       1 for each prediction, then 0
//	next_sentence_labels  int64     1       0: B follows A; 1: B is from elsewhere
//
// # Wire form
//
// [Example.Append] writes the features in the order above, each list packed,
// each varint as short as can be. Protocol buffers leave the order of map
// entries open; this is the one of the original script under the pure-Python
// protobuf implementation, which keeps insertion order. Equal examples have
// equal bytes.
//
// [Example.Decode] takes any valid encoding: another order, unpacked lists,
// long varints, unknown fields, further features, and the names input_word_ids
// and input_type_ids of TensorFlow's model garden in place of input_ids and
// segment_ids. What is missing, of the wrong type, of the wrong length, or
// beyond an int32 is a [FeatureError].
//
// An Example is for one goroutine at a time, an Encoder may be shared; the
// package keeps no state.
package records
