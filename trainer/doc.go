// Package trainer holds what every part of the trainer agrees on: the settings
// of a BERT model, the table of its tensors, the batch, the interfaces between
// the loop, the devices, the data and the checkpoints, and the loop itself.
//
// It imports none of its sub-packages. A [Backend] (trainer/cpu, trainer/cuda)
// computes, a [Source] (trainer/loader) brings batches, a [Saver]
// (trainer/checkpoint) keeps what was learned, a [Comm] (trainer/comm) joins
// ranks; a command wires them together:
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
// A step is one update of the weights. It owns the examples at positions
// [P, P+B), where B is the global batch in sequences and positions count over
// all epochs (position = epoch·N + index). The range is cut, in order, into
// micro-batches of at most a fixed number of tokens ([Cut]); micro-batch j goes
// to rank j mod R ([Mine]). Before the first micro-batch the loop adds up the
// step's [Counts] over all ranks and turns them into [Coef], the coefficient of
// every loss term, so that gradients are only ever summed and never divided:
// any cut of a batch gives the gradient of the whole batch.
//
// # Loss
//
// As google-research/bert's run_pretraining.py:
//
//	loss = Σ w·l / (Σ w + 1e-5) + Σ n / N
//
// l and w being the cross entropy and the weight of every masked token, n the
// cross entropy of next-sentence prediction and N the number of sequences.
//
// # Concurrency
//
// A [Model] is used by one goroutine at a time. Data types are plain values.
package trainer
