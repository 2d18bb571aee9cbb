// Package session runs BERT's training from files to files: pre-training, its
// evaluation, fine-tuning and the import and export of models. It connects the
// trainer's parts (loader, backend, optimizer, checkpoints) and writes the logs and
// checkpoints with which a run can be watched and resumed.
//
//	o := session.DefaultOptions()
//	o.Data, o.Out, o.Model, o.NumTrainSteps = "shards", "out", "tiny", 5000
//	o.Log = os.Stderr
//	result, err := session.Train(ctx, o) // a second call resumes
//
// A run owns its output directory, which is locked while it runs:
//
//	OUT/step-NNNNNNNN/            checkpoints (package checkpoint)
//	OUT/metrics.jsonl             a line of JSON for each step and each evaluation
//	OUT/events.out.tfevents.*     the same curves for TensorBoard, a file a process
//	OUT/cache/                    index of third-party records, see [DataOptions]
//	OUT/log/rank-NNNN.log         with several ranks: what ranks but 0 report
//
// With [Options.Ranks] several processes train one model. Rank 0 owns the output
// directory and sends the model that it has read to the others.
//
// A resumed run ends with the weights of one that was never interrupted.
//
// Options are plain values, named after the flags of train-bert; errors use the names
// of the flags. Two kinds of errors have a method that errors.As finds:
//
//   - "Usage() bool": options are wrong, or do not fit the data;
//   - "Damaged() bool": files are corrupt.
package session
