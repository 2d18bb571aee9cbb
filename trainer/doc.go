// Package trainer defines the core of the trainer: the model configuration, the
// table of its tensors, batches, the training loop, and the interfaces between
// the loop, devices, data and checkpoints.
//
// It imports none of its sub-packages. A [Backend] (trainer/cpu, trainer/cuda)
// computes, a [Source] (trainer/loader) supplies batches, a [Saver]
// (trainer/checkpoint) writes checkpoints, a [Comm] connects ranks; a command
// combines them:
//
//	model, err := backend.Open(cfg, trainer.PretrainHeads(), opts)
//	if err != nil {
//		return err
//	}
//	defer model.Close()
//	if _, err := model.Load(trainer.Weights, trainer.InitialWeights(cfg, heads, seed)); err != nil {
//		return err
//	}
//	return trainer.Train(ctx, trainer.Loop{Model: model, Source: src, Saver: saver, Batch: 256, Schedule: sched})
//
// # One step
//
// A step is one update of the weights.
//
//	examples       position P                                   P+B
//	               |  e0 e1 e2  |  e3 e4  |  e5 e6 e7  |  e8 ...  |
//	micro-batches        0           1          2          3
//	rank (R = 2)         0           1          0          1
//
// A step uses the examples at positions [P, P+B), where B is the global batch
// size in sequences. Positions count over all epochs: position = epoch·N +
// index. [Cut] divides this range, in order, into micro-batches of at most T
// tokens and about equal size. Their number is a multiple of the number of ranks
// at the start of the run. [Deal] assigns them to the ranks.
//
// Before the first micro-batch, the loop sums the step's [Counts] over all
// ranks and converts them to [Coef], the coefficient of every loss term. So
// gradients are only summed, never divided, and every division into
// micro-batches gives the gradient of the whole batch.
//
// # Loss
//
// As in run_pretraining.py of google-research/bert:
//
//	loss = Σ w·l / (Σ w + 1e-5) + Σ n / N
//
// l and w are the cross entropy and the weight of each masked token, n is the
// cross entropy of each next-sentence prediction and N the number of sequences.
//
// # Checkpoints
//
// A [Model] hands out a frozen copy of itself, a [Snapshot]; the [Saver] writes
// it while the next steps are computed. Resumed from a checkpoint, a run takes
// the same steps as one that was not interrupted, on any number of ranks.
//
// # Concurrency
//
// A [Model] must not be used by several goroutines at once. Data types are
// plain values.
package trainer
