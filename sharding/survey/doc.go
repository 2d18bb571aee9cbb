// Package survey answers what is in a data set, and in what two of them differ.
//
//	stats, err := survey.Collect(ctx, "data", survey.Options{Workers: 4})
//	if err != nil {
//		return err // damage is an error here: see what is wrong with verify.Dataset
//	}
//	fmt.Println(stats.Records.Padding, stats.Records.MaskRate.Share)
//
//	d, err := survey.Compare(ctx, "data", "other", survey.CompareOptions{Workers: 4})
//	if err == nil && !d.Same() { … }
//
// A path is a run (a folder of stage folders), a stage's folder, a folder of
// TFRecord files of anyone's, or one such file. What folders and files hold is
// described in docs/format.md; this package knows no more of the stages than
// that, so a folder of a stage that someone else wrote is surveyed like ours.
//
// # What is counted
//
// Records are read one by one and counted into histograms: lengths,
// predictions, what predicted tokens became, labels, original tokens (masks
// undone). Where the manifest says how the records were made, each share stands
// beside what it must be: see [Share]. Records that occur twice are found by a
// 64-bit hash of their bytes (two different ones have the same with a chance of
// about n²/2⁶⁵), sorted outside memory when there are many.
//
// Documents are read for their lengths, languages and sources. What was
// rejected comes from the manifests.
//
// # Memory and concurrency
//
// Peak memory is Workers × (a read buffer and some histograms, about 2 MB) plus
// [Options.Memory] for hashes, whatever the size of the data; a document or
// record is held whole. Files are read by several goroutines that end before
// Collect returns; results do not depend on their number.
package survey
