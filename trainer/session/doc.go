// Package session runs BERT's training from files to files: pre-training, its
// evaluation, fine-tuning and the import and export of models. It connects the
// trainer's parts (loader, backend, optimizer, checkpoints) and keeps what a run
// needs to be watched and resumed.
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
// Options are plain values with the names of train-bert's flags, which errors use
// too. Two kinds of errors can be told apart by a method, found by errors.As:
// "Usage() bool" where options or their combination with the data are wrong, and
// "Damaged() bool" where files are corrupt.
package session
