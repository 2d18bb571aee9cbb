// Package survey computes statistics of a data set and compares two data sets.
//
//	stats, err := survey.Collect(ctx, "data", survey.Options{Workers: 4})
//	if err != nil {
//		return err // also for corrupt data; verify.Dataset lists all of it
//	}
//	fmt.Println(stats.Records.Padding, stats.Records.MaskRate.Share)
//
//	d, err := survey.Compare(ctx, "data", "other", survey.CompareOptions{})
//	if err == nil && !d.Equal { … }
//
// A path is a run, a stage's folder, a directory of TFRecord files or one such file,
// see [sharding.Open]. The package relies only on docs/file-format.md, so folders of
// third-party stages work too.
//
// # What is counted
//
// Of records: histograms of lengths, predictions, replacements of masked tokens,
// labels, and original tokens (masks undone). If the manifest has the options of the
// records, each fraction comes with its expected range, see [Share]. Duplicate records
// are found by a 64-bit hash of their bytes, with a collision probability of about
// n²/2⁶⁵; hashes that exceed the memory are sorted on disk.
//
// Of documents: lengths, languages and sources. Counts of rejects come from the
// manifests.
//
// # Memory and concurrency
//
// Peak memory is Workers × (a read buffer and some histograms, about 2 MB) plus
// [Options.Memory] for hashes, for data of any size. Several goroutines read files;
// they end before Collect returns. Results do not depend on their number.
package survey
