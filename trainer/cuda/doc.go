// Package cuda computes BERT on an NVIDIA GPU, in fp32, bf16 or fp16.
//
//	gpu, err := driver.Open(0)
//	backend := cuda.New(gpu)
//	model, err := backend.Open(cfg, trainer.PretrainHeads(), opts)
//
// It computes what trainer/cpu computes, with the same names and the same dropout
// masks, on any implementation of trainer/cuda/device: a GPU, or the simulator
// that tests use. Kernels are those of trainer/cuda/kernels; matrix products are
// cuBLASLt's.
//
// # What it supports
//
// A head size of 64, a hidden size of up to 1024, an intermediate size that is a
// multiple of 8, sequences of up to 512 tokens, any vocabulary, both forms of
// GELU. Open refuses other models and says why.
//
// # Types
//
// Weights, moments and gradients are fp32; statistics, losses and sums too. The
// rest has the precision's type: activations, and a copy of the weights that the
// update writes. fp16 multiplies the loss by a scale, which is halved when
// gradients overflow, and then no weight changes; it doubles after 2,000 updates.
// The device decides both.
//
// # Batches
//
// Sequences are not padded, except for the batch as a whole: it is filled up to a
// multiple of a quantum by tokens without targets (see shape), so that few shapes
// of products occur. The vocabulary is rounded up to 64 on the device; the added
// words have no logits and no gradients, and are never read back.
//
// # Streams and memory
//
// Two streams: one copies the next batch while the other computes. All device
// memory is one allocation, made by Open; a step allocates nothing. Accumulate
// returns as soon as the work is queued; Apply waits for it once.
//
// # Determinism
//
// Without Deterministic, the gradient of the queries is summed by atomics in any
// order, in bf16 and fp16. Everything else is summed in a fixed order. The
// algorithms of products are part of the state, so a resumed run uses the same.
//
// # Reading the code
//
//	backend.go, shape.go, layout.go, buffers.go, arena.go   Open: limits, padding, places of tensors, memory
//	model.go, upload.go, group.go, selection.go             a batch on its way to the device
//	encoder.go, backward.go, heads.go, mlm.go               forward and backward; the names are those of trainer/cpu
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
