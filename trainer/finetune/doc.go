// Package finetune fine-tunes and runs BERT with the head of a task. Its
// sub-packages implement the tasks: finetune/squad answers questions about a
// text, finetune/glue classifies sentences and sentence pairs, finetune/predict
// answers single requests.
//
// A task provides its examples as an [Examples]: their number, their lengths, and
// a method that appends an example to a batch. A [Source] supplies the examples in
// a shuffled order to [trainer.Train], the training loop of pre-training. So a run
// can be resumed exactly:
//
//	source, err := finetune.NewSource(examples, finetune.SourceOptions{Seed: 1, MicroBatchTokens: 4096, Heads: heads})
//	if err != nil {
//		return err
//	}
//	schedule := finetune.Recipe{Rate: 5e-5, Batch: 32, Epochs: 3, Warmup: 0.1}.Schedule(questions)
//	_, err = trainer.Train(ctx, trainer.Loop{Model: model, Heads: heads, Source: source, Schedule: schedule, Batch: 32})
//
// [Forward.Each] computes every example once and passes its outputs to a
// function.
//
// # Order
//
// Positions count examples over all epochs. The order of an epoch is a
// permutation that depends only on the seed and the epoch. It differs from the
// order of google-research/bert, which TensorFlow shuffles.
//
// # Concurrency
//
// Examples are immutable and may be shared. A Source must not be used by
// several goroutines at once. The package starts no goroutines.
package finetune
