// Package loader reads examples back: from a finished folder of shards, a run's
// root, a single TFRecord file, or a folder of TFRecord files of other makers.
//
//	shards, err := loader.Open(ctx, "data", loader.Options{Split: sharding.Train})
//	if err != nil {
//		return err
//	}
//	for record, err := range shards.Examples(ctx) {
//		if err != nil {
//			return err // damage with file, record and byte; it ends the loop
//		}
//		use(record.Example) // until the next step
//	}
//
// # What a path may be
//
//	DIR       with manifest.json of stage "examples"  its shards
//	DIR       with one such folder, or DIR/shards     a run: those shards
//	DIR       without either                          foreign: its files of records
//	FILE                                              one file of records, nothing known of it
//
// Foreign files of records are those named *.tfrecord, *.tf_record, *.record
// (or the plural), or NAME-00003-of-00500, with or without .gz behind; in the
// order of their names. Records with the feature names of TensorFlow's model
// garden are understood ([records.Example.Decode]), files with gzip or zlib
// around them are recognised by their first bytes.
//
// # What is checked
//
// Of a folder with a manifest [Open] checks that every listed file is there and
// has its size, and with [Options.Verify] its hash; a folder with a plan and no
// manifest is not finished and refused. Reading checks every checksum, that
// each example decodes and has the lengths of the manifest, and that each file
// has the number of records that the manifest says: a file cut between two
// records is damage too. Whether the values of an example make sense is asked
// of [records.Rules]. Without a manifest only what the records say of
// themselves can be checked, and where a file of others cannot be read to its end
// ([TailError]), a run may go on with what lies before.
//
// # Order
//
// Examples come file by file in the order of names, eval before train where
// both are selected, and inside a file as they stand. [Shards.Index] numbers
// them in this order from 0 and reads any of them on its own: the position on
// which a training order is built.
//
// # Training
//
// A [Source] brings the examples of a run in a shuffled order and cuts them into
// micro-batches, for [trainer.Train]:
//
//	src, err := loader.NewSource(ctx, shards, loader.SourceOptions{Seed: 1, MicroBatchTokens: 8192, Heads: trainer.PretrainHeads()})
//
// Position p is index p mod N of epoch p div N, N examples an epoch. In each
// epoch the spans (16 MiB of a file, or less at its end) are shuffled, and then
// the records of every 8 spans that follow each other: all of that by the seed
// and the epoch alone, so a position stands for the same example on any number
// of ranks and after any restart.
//
// # Memory and concurrency
//
// Iterating holds one read buffer (128 KiB, or the longest record, which may
// have 64 MiB) and one example, whatever the size of the folder, and allocates
// nothing for an example. An index holds 16 bytes for every 64 KiB of records. Shards
// and an index do not change and may be shared; each iteration, each
// [Picker] and each [Source] is for one goroutine. A Source holds a window of
// the order, 128 MiB, and the examples of a step, or of two with
// [SourceOptions.Readers], whose goroutines end with the step they read.
// [Masking] replaces the masks of the records in every epoch.
package loader
