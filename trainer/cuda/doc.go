// Package cuda computes BERT and ModernBERT on an NVIDIA GPU, in fp32, bf16 or fp16, and
// BERT in fp8.
//
//	gpu, err := driver.Open(0)
//	backend := cuda.New(gpu)
//	model, err := backend.Open(cfg, trainer.PretrainHeads(), opts)
//
// It computes the same results as trainer/cpu, with the same tensor names and dropout masks.
// It runs on any implementation of trainer/cuda/device: a GPU, or the simulator that tests
// use. The kernels are in trainer/cuda/kernels; cuBLASLt computes matrix products.
//
// # Supported models
//
// BERT and ModernBERT, with all heads: a head size of 64, a hidden size of up to 1024, an
// intermediate size that is a multiple of 8, sequences of up to 8,192 tokens, any vocabulary,
// both forms of GELU. For other models Open returns an error with the reason.
//
// # Types
//
// Weights, moments, gradients, statistics, losses and sums are fp32 or wider.
// Activations have the type of the precision. So does a second copy of the weights, which
// each update writes. fp16 multiplies the loss by a scale. If gradients overflow, the scale
// is halved and the update is skipped; after 2,000 updates without an overflow the scale
// is doubled. The device makes both decisions.
//
// # Batches
//
// Sequences are not padded to one length. The batch as a whole is padded to a
// multiple of a number of tokens (the quantum, see shape) by tokens without targets,
// so that few shapes of matrix products occur. The vocabulary is rounded up to a
// multiple of 64 on the device; the added words have no logits and no gradients, and
// are never read back.
//
// # Streams and memory
//
// There are two streams: one copies the next batch while the other computes. Prepare packs
// the first batch of the next step, and queues its copy, while the device computes. With
// several ranks, a third stream exchanges gradients. Open makes a single allocation of
// device memory; a step allocates nothing. Accumulate returns as soon as its work is
// queued. Apply waits once, for all work of the step.
//
// # Determinism
//
// In bf16 and fp16 without Options.Deterministic, the gradient of the queries is
// summed by atomic operations in any order. All other sums have a fixed order. The
// algorithms of matrix products are part of the checkpoint, so a resumed run uses the
// same algorithms.
//
// # Reading the code
//
//	backend.go, shape.go, arena.go   Open: limits, padding, memory
//	model.go                         trainer.Model, by the parts below; trainer/cpu has the same
//	parameters.go                    weights, gradients, moments, and where each tensor is
//	encoder.go, choose.go            embeddings and layers, forward and backward
//	modern.go                        the same of ModernBERT
//	heads.go, mlm.go                 losses, outputs and gradients of the heads
//	ranks.go, exchange.go            several ranks: what is exchanged, and how
//	update.go                        the optimizer, the loss scale, the counters
//	transfer.go                      weights, moments and snapshots, in and out
//	batch.go, group.go               only here: batches on their way to the device
//	profile.go                       time, bytes and operations of each kernel; a model of them
//	compute.go, queue.go             kernels and products that the parts share
//
// Functions that queue a kernel or a product take its operands, so they have more
// than three parameters: results first, then inputs, then sizes.
//
// # Several ranks
//
// Gradients are summed over the ranks in buckets: those of the heads, of each layer
// from the last to the first, and of the embeddings. In the last micro-batch of a
// step, each bucket is summed in a stream of its own as soon as the backward pass has
// queued its gradients, while the pass continues. The word embedding, which the
// masked-LM head shares, is complete at the end. A rank without a micro-batch makes
// the same collective calls in Apply. Every rank then makes the same update.
//
// With [trainer.Options.ShardOptimizer] each rank updates an equal part of each bucket
// and has only the moments of its parts: gradients are reduce-scattered, each rank
// updates its parts, and the weights are gathered (ZeRO-1). Norms need sums over all
// ranks: the sums of squares of gradients (for LAMB also of weights and directions) of
// each 4,096 elements are exchanged. With or without ShardOptimizer, each rank sends
// 8·n·(ranks-1)/ranks bytes of gradients and weights per step for n parameters. A
// snapshot gathers the moments on rank 0.
//
// The collectives are those of [device.Collectives] (NCCL). If a rank lacks them, all
// ranks exchange through host memory and trainer.Comm, after the backward pass. When
// the Comm reports a lost rank, or a collective fails, the communicator is aborted, so
// that the device stops waiting. The model then returns the error of the Comm, which
// names the lost rank.
package cuda
