// Package cuda computes BERT on an NVIDIA GPU, in fp32, bf16 or fp16.
//
//	gpu, err := driver.Open(0)
//	backend := cuda.New(gpu)
//	model, err := backend.Open(cfg, trainer.PretrainHeads(), opts)
//
// It computes the same results as trainer/cpu, with the same names and the same
// dropout masks, on any implementation of trainer/cuda/device: a GPU, or the simulator
// that tests use. The kernels are in trainer/cuda/kernels; cuBLASLt computes matrix
// products.
//
// # What it supports
//
// A head size of 64, a hidden size of up to 1024, an intermediate size that is a
// multiple of 8, sequences of up to 512 tokens, any vocabulary, both forms of
// GELU. Open refuses other models and says why.
//
// # Types
//
// Weights, moments, gradients, statistics, losses and sums are fp32 or wider.
// Activations have the type of the precision, and so has a copy of the weights that
// each update writes. fp16 multiplies the loss by a scale. If gradients overflow, the
// scale is halved and the update is skipped; after 2,000 updates without an overflow
// the scale doubles. The device decides both.
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
// Two streams: one copies the next batch while the other computes. All device
// memory is one allocation, made by Open; a step allocates nothing. Accumulate
// returns as soon as the work is queued; Apply waits for it once.
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
//	backend.go, shape.go, layout.go, buffers.go, arena.go   Open: limits, padding, offsets of tensors, memory
//	model.go, upload.go, group.go, selection.go             copying a batch to the device
//	encoder.go, backward.go, heads.go, mlm.go               forward and backward; same names as trainer/cpu
//	apply.go, tensors.go, snapshot.go                       the update; weights in and out
//	queue.go, products.go, choose.go                        kernels, products, and their choice
//
// Functions that queue a kernel or a product take its operands, so they have more
// than three parameters: results first, then inputs, then sizes.
//
// # Several ranks
//
// Gradients are summed over the ranks through host memory; every rank then makes
// the same update.
package cuda
