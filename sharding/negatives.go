package sharding

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Negatives is a sample of the documents of other shards. Random segments of a
// shard's examples may be of these; no examples are made from them.
type Negatives struct {
	Documents int64     `json:"documents"` // of all other shards together, for which the sample stands
	Blocks    BlockList `json:"blocks"`
}

// NegativesBytes is how many bytes of text complete the sample of a shard. With the
// block that reaches it, the sample has somewhat more.
const NegativesBytes = 1 << 20

// sample returns the negatives of a shard, nil if it has none. If the other shards
// have more than NegativesBytes of text, blocks are drawn one after the other: draw
// i = 0, 1… is the unit whose number is SHA-256(seed, shard, i), the first 8 bytes,
// modulo the number of units. Units of the shard and units drawn before do not count.
func (a *Assignment) sample(shard int) *Negatives {
	if !a.negatives || a.Shards == 1 {
		return nil
	}
	own := a.of(shard) // in ascending order
	n := &Negatives{Documents: a.documents}
	rest := a.TextBytes
	for _, unit := range own {
		file, block := a.place(unit)
		n.Documents -= a.files[file].Blocks[block].Documents
		rest -= a.text(file, block)
	}
	var drawn []uint32
	if rest <= NegativesBytes {
		for unit := range uint32(len(a.blocks)) {
			if _, has := slices.BinarySearch(own, unit); !has {
				drawn = append(drawn, unit)
			}
		}
	} else {
		drawn = a.draw(shard, own)
	}
	for _, unit := range drawn {
		file, block := a.place(unit)
		n.Blocks.add(a.files[file].FileBlocks, block)
	}
	return n
}

// draw draws units of other shards until they have NegativesBytes of text, of which
// there must be more. It returns them in source order.
func (a *Assignment) draw(shard int, own []uint32) (drawn []uint32) {
	text := int64(0)
	for i := uint64(0); text < NegativesBytes; i++ {
		in := binary.BigEndian.AppendUint64(nil, a.seed)
		in = binary.BigEndian.AppendUint64(in, uint64(shard))
		in = binary.BigEndian.AppendUint64(in, i)
		sum := sha256.Sum256(in)
		unit := uint32(binary.BigEndian.Uint64(sum[:]) % uint64(len(a.blocks)))
		at, has := slices.BinarySearch(drawn, unit)
		if _, mine := slices.BinarySearch(own, unit); has || mine {
			continue
		}
		drawn = slices.Insert(drawn, at, unit)
		file, block := a.place(unit)
		text += a.text(file, block)
	}
	return drawn
}
