// Package loader reads examples: from a folder of shards, the root folder of a
// run, a single TFRecord file, or a folder of third-party TFRecord files.
//
//	shards, err := loader.Open(ctx, "data", loader.Options{Split: sharding.Train})
//	if err != nil {
//		return err
//	}
//	for record, err := range shards.Examples(ctx) {
//		if err != nil {
//			return err // names file, record and byte; ends the loop
//		}
//		use(record.Example) // valid until the next iteration
//	}
//
// # Paths
//
//	DIR       with manifest.json of stage "examples"  its shards
//	DIR       with one such folder, or DIR/shards     a run: the shards of that folder
//	DIR       with shards in the format of another    these shards, as prepare-data convert
//	          library, or a folder for each split     writes them
//	DIR       with none of these                      third-party: its records files
//	FILE                                              one records file, without a manifest
//
// Third-party records files are files that pretext did not write. Their names are
// *.tfrecord, *.tf_record, *.record (or the plural) or NAME-00003-of-00500,
// optionally with .gz. They are read in the order of their names. Feature names
// of TensorFlow's model garden are accepted ([records.Example.Decode]).
// Compression with gzip or zlib is detected by the first bytes.
//
// # Forms
//
// Records have one of the forms of package records. The form of third-party files
// is found from their first records; files of several forms are an error. In the
// training order, an example is
//
//	Pairs, Masked   a record
//	Packed          a row: either each piece of the row or the whole row is a sequence
//	Tokens          a piece of a document, between [CLS] and [SEP]
//
// # Validation
//
// For a folder with a manifest, [Open] checks that every listed file exists and
// has the listed size, and with [Options.Verify] also the hash. A folder with a
// plan but without a manifest is unfinished and is rejected. Reading verifies
// every checksum, that each example decodes and has the lengths of the
// manifest, and that each file has the number of records in the manifest, so
// that a file truncated between two records is detected. [records.Rules] checks
// the values of an example. Without a manifest only the records themselves can
// be checked. If such a file has an unreadable tail ([TailError]), a run may
// use the records before it.
//
// # Order
//
// Examples are read file by file in the order of file names, with eval before
// train if both are selected. [Shards.Index] numbers them in this order from 0
// and gives random access. The training order is a permutation of these
// numbers.
//
// # Training
//
// A [Source] supplies the examples of a run in a shuffled order, in
// micro-batches, to [trainer.Train]:
//
//	src, err := loader.NewSource(ctx, shards, loader.SourceOptions{Seed: 1, MicroBatchTokens: 8192, Heads: trainer.PretrainHeads()})
//
// Position p is index p mod N of epoch p div N, with N examples in an epoch.
// Each epoch is shuffled in two levels:
//
//	files     |----- a ------|---- b -----|        spans of 16 MiB, shorter at the end of a file
//	spans     a0  a1  a2  a3  b0  b1  b2
//	shuffled  b1  a3  a0  b2  a2  b0  a1
//	windows   [-------------]  [------- 8 spans each; the records of a window are shuffled
//
// The order depends only on the seed and the epoch, so a position is the same
// example for any number of ranks and after resuming.
//
// # Memory and concurrency
//
// Iteration needs one read buffer (128 KiB, or the longest record, at most 64
// MiB) and one example, and does not allocate for each example. An index takes
// 16 bytes for every 64 KiB of records. A Source holds one window in memory, by
// default 128 MiB, and the examples of one step (two with [SourceOptions.Readers]).
//
// [Shards] and an [Index] are immutable and may be shared. An iteration, a
// [Picker] or a [Source] must not be used by several goroutines at once. The
// goroutines of [SourceOptions.Readers] end with the step that they read.
//
// By default the masks in the records are used; [Masking] draws new masks in
// every epoch.
package loader
