// Package finetune trains and runs BERT with a task's head: what comes after
// pre-training. Its sub-packages hold the tasks: finetune/squad answers
// questions about a text, finetune/glue classifies sentences and pairs of them,
// finetune/predict answers single requests.
//
// A task gives its examples as an [Examples]: how many there are, how long each
// is, and how one is put into a batch. A [Source] brings them in a shuffled
// order to the loop that pre-training uses, so that a run resumes exactly where
// it stopped:
//
//	source, err := finetune.NewSource(examples, finetune.SourceOptions{Seed: 1, MicroBatchTokens: 4096, Heads: heads})
//	if err != nil {
//		return err
//	}
//	schedule := finetune.Recipe{Rate: 5e-5, Batch: 32, Epochs: 3, Warmup: 0.1}.Schedule(questions)
//	_, err = trainer.Train(ctx, trainer.Loop{Model: model, Heads: heads, Source: source, Schedule: schedule, Batch: 32})
//
// [Forward] computes every example once and hands out its logits.
//
// # Order
//
// Positions count examples over all epochs. The order of an epoch is a
// permutation that the seed and the epoch alone decide; it is not that of the
// reference, whose shuffling is TensorFlow's.
//
// # Concurrency
//
// Examples do not change while they are used and may be shared; a Source is for
// one goroutine. No goroutine is started here.
package finetune
