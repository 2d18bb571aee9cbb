// Package cpu computes BERT on the processor: it is the oracle of every other
// backend, and what a newcomer without a GPU trains on.
//
//	model, err := cpu.Backend{}.Open(cfg, trainer.PretrainHeads(), opts)
//
// The model is written once, generic over float32 and float64; double precision
// exists for tests by finite differences. Batches are unpadded: the tokens of
// all sequences are rows of one matrix, and only attention knows where a
// sequence ends.
//
// # Forward and backward
//
// T tokens, H hidden size, F feed-forward size, A heads. Weights are stored as
// transformers does, output × input, so a dense layer is y = x·Wᵀ + b. One layer,
// with what it keeps for the backward pass in brackets:
//
//	qkv = x·Wqkvᵀ + b                       (T, 3H)  [x, qkv]
//	P = softmax(q·kᵀ/√(H/A)), dropped out   (L, L)   [log of the row sums]
//	ctx = P·v                               (T, H)   [ctx]
//	y1 = LN(x + drop(ctx·Woᵀ + b))          (T, H)   [x̂, 1/σ, y1]
//	u = y1·W1ᵀ + b, g = gelu(u)             (T, F)   [u]
//	y2 = LN(y1 + drop(g·W2ᵀ + b))           (T, H)   [x̂, 1/σ, y2]
//
// P, g and the dropout masks are computed again in the backward pass. Behind its
// attention the last layer is computed only for rows that a head reads: no row
// there depends on another, and the gradient of all others is zero. The
// masked-LM head runs on masked tokens only, in chunks of them, forward and
// backward in one go, so that logits never exceed a chunk; and in parts of the
// vocabulary, whose logits stay in the cache from the product to the gradient.
//
// # Memory
//
// About 4·(8H + F) bytes a token of [trainer.Options.Tokens] and layer when
// training (as much as two layers without), 16 bytes a parameter (4 without),
// and a chunk of logits (256 × vocabulary × 4 bytes). Attention adds two
// matrices of 256 × sequence length a thread.
//
// # Determinism
//
// Results are the same bits for any number of threads; they differ by rounding
// between instruction sets.
//
// # Concurrency
//
// A model is used by one goroutine at a time and runs its loops on
// [Backend].Threads goroutines, which end with the call.
package cpu
