package cuda

import "pretext/trainer"

// A shape is the capacity of a model's buffers. Batches are padded to multiples
// of a quantum, so that matrix products have few different shapes and each is
// planned once:
//
//   - tokens: with padding sequences, which have no targets, so that their
//     gradients are exactly zero;
//   - rows that the heads read: with copies of row 0, whose gradients are zero;
//   - masked tokens: to whole chunks, with tokens without labels.
type shape struct {
	tokens, tokenQuantum int // capacity, a multiple of the quantum
	sequences            int // capacity, including sequences of padding
	pooled, pooledRows   int // capacity and quantum of the pooler's rows, one for each real sequence
	masked, chunk        int // capacity, a multiple of the chunk
	piece, pieces        int // maximum rows of a piece (see grouped), and maximum number of pieces
	workspace            int // bytes of scratch memory for matrix products
	vocabulary           int // rounded up to 64; the added words have zero weights and no logits

	ranks   int  // number of ranks that train the model together
	sharded bool // the ranks divide the optimizer's state
}

// Limits of padding and of chunks. The quantum of n rows is at most n/padShare, but
// at least minQuantum.
const (
	padShare   = 32
	maxQuantum = 1024
	minQuantum = 8
	maxPiece   = 512  // rows
	maxChunk   = 2048 // masked tokens: logits of 2048 × 30,528 in 16 bits are 125 MB
)

// limits are the maximum sizes of parts of a model. Tests lower them.
type limits struct {
	chunk, piece int // masked tokens of a chunk; rows of a piece (see grouped)
	workspace    int // bytes of scratch memory for matrix products

	divideAlone bool // divide the optimizer's state even over a single rank
}

// defaultLimits are the limits outside tests. The workspace of 32 MiB is NVIDIA's
// recommendation for cuBLASLt on sm_90.
var defaultLimits = limits{chunk: maxChunk, piece: maxPiece, workspace: 32 << 20}

// newShape returns the shape for a model's options.
func newShape(c trainer.Config, o trainer.Options, most limits) shape {
	s := shape{piece: most.piece, workspace: most.workspace, tokenQuantum: quantum(o.Tokens), pooledRows: quantum(o.Sequences), vocabulary: roundUp(c.VocabSize, 64)}
	if o.Precision == trainer.Float8 { // sizes of 8-bit products are multiples of 16
		s.tokenQuantum = max(s.tokenQuantum, 16)
	}
	s.tokens = roundUp(o.Tokens, s.tokenQuantum)
	s.sequences = o.Sequences + (s.tokenQuantum-1+c.MaxPositions-1)/c.MaxPositions
	s.pooled = roundUp(o.Sequences, s.pooledRows)
	s.chunk = min(roundUp(max(o.Masked, 1), minQuantum), most.chunk)
	s.masked = roundUp(o.Masked, s.chunk)
	s.pieces = 2 * blocks(s.tokens, s.piece)
	s.ranks = 1
	if o.Train {
		s.ranks = trainer.OrAlone(o.Comm).Size()
		s.sharded = o.ShardOptimizer && (s.ranks > 1 || most.divideAlone)
	}
	return s
}

// quantum returns the quantum, a power of two, for batches of up to n rows.
func quantum(n int) int {
	q := minQuantum
	for q < maxQuantum && 2*q <= n/padShare {
		q *= 2
	}
	return q
}

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// blocks returns the number of blocks of size each that n elements need.
func blocks(n, each int) int { return (n + each - 1) / each }
