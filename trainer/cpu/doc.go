// Package cpu computes BERT on the CPU. It is the reference that other backends
// are tested against, and trains models on machines without a GPU.
//
//	model, err := cpu.Backend{}.Open(cfg, trainer.PretrainHeads(), opts)
//
// The model is written once, generic over float32 and float64; double precision
// exists for gradient tests by finite differences. Batches are unpadded: the rows
// of a matrix are the tokens of all sequences, and only attention needs to know
// where a sequence begins and ends.
//
// # Forward and backward
//
// T is the number of tokens, H the hidden size, F the feed-forward size, A the
// number of heads, and L the length of a sequence. Weights are stored as in
// transformers, output × input, so a dense layer is y = x·Wᵀ + b. This is one
// layer; brackets show the values stored for the backward pass:
//
//	qkv = x·Wqkvᵀ + b                       (T, 3H)  [x, qkv]
//	P = softmax(q·kᵀ/√(H/A)), dropped out   (L, L)   [log of the row sums]
//	ctx = P·v                               (T, H)   [ctx]
//	y1 = LN(x + drop(ctx·Woᵀ + b))          (T, H)   [x̂, 1/σ, y1]
//	u = y1·W1ᵀ + b, g = gelu(u)             (T, F)   [u]
//	y2 = LN(y1 + drop(g·W2ᵀ + b))           (T, H)   [x̂, 1/σ, y2]
//
// The backward pass recomputes P, g and the dropout masks.
//
// The last layer is computed only for the rows that a head reads, except for the
// keys and values, to which those rows attend. This is possible because there the
// rows do not depend on each other; the gradient of the other rows is zero.
//
// The masked-LM head runs only on masked tokens, in chunks. It does the forward
// and the backward pass of a chunk together, so that only the logits of one chunk
// are in memory. Within a chunk it processes the vocabulary in parts whose logits
// fit in the processor's cache, and uses their gradients while they are there.
//
// Functions on matrices take operands and sizes as separate parameters, as BLAS
// does.
//
// # Memory
//
// Training takes about 4·(8H + F) bytes for each token of
// [trainer.Options.Tokens] and each layer, 16 bytes for each parameter, and a
// chunk of logits (256 × vocabulary × 4 bytes). Without training, only two layers
// count, and each parameter takes 4 bytes, 8 in the layers' matrices: these are
// also kept in the order in which products read them. Attention adds three matrices of
// 256 × sequence length for each thread.
//
// # Reading the code
//
//	backend.go, model.go   Open; trainer.Model, by the parts below; trainer/cuda has the same
//	parameters.go          weights, gradients, moments, and where each tensor is
//	encoder.go             embeddings and layers, forward and backward
//	attention.go           their attention
//	heads.go, mlm.go       losses, outputs and gradients of the heads
//	ranks.go               several ranks: sums of gradients
//	update.go              the optimizer and the counters
//	transfer.go            weights, moments and snapshots, in and out
//	compute.go             operations on matrices that the parts share
//	lower.go               the roundings of a GPU in bf16 and fp8, for experiments
//
// # Several ranks
//
// Ranks sum gradients in buckets: those of the heads, of each layer from the
// last to the first, and of the embeddings. A bucket is summed in the background
// as soon as the last micro-batch's backward pass has completed it; the word
// embedding, which the masked-LM head shares, is complete at the end. Buckets are
// summed by reduce-scatter and all-gather, and every rank makes the same update.
// With [trainer.Options.ShardOptimizer] there is no all-gather of sums: a rank
// updates only its part of each bucket, and the new weights are gathered at the
// end of the step. A rank then needs 8 bytes for each parameter, and 8 more for
// each parameter that it updates, instead of 16 for each parameter. While a
// snapshot is open, rank 0 needs another 8 bytes for each parameter.
//
// # Determinism
//
// Results are bitwise equal for any number of threads. Between instruction sets
// they differ by rounding.
//
// # Concurrency
//
// A model must not be used by several goroutines at once. It runs its loops on
// [Backend].Threads goroutines, which end with the call.
package cpu
