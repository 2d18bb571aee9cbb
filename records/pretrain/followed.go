package pretrain

import "slices"

// A Followed document counts the examples whose segment B is of it. From these counts
// follows how well that document tells the label of an example.
type Followed struct {
	ID uint64 `json:"id"`

	// Examples are by half and label. Every other example is of the second half, so
	// that the labels of one half can be guessed from those of the other.
	Examples [2][2]int64 `json:"examples"`
}

// Follow makes a [Builder] count the examples whose segment B is of the last document.
func (c *Corpus) Follow(id uint64) {
	c.followed = append(c.followed, followed{uint32(c.Documents() - 1), id})
}

// A followed document is its number in a corpus and its ID.
type followed struct {
	document uint32
	id       uint64
}

// Followed returns the followed documents of the corpus of the last [Builder.Build],
// valid until the next one.
func (b *Builder) Followed() []Followed { return b.followed }

// beginFollowing clears the counts.
func (b *Builder) beginFollowing(c *Corpus) {
	b.followed = b.followed[:0]
	for _, f := range c.followed {
		b.followed = append(b.followed, Followed{ID: f.id})
	}
}

// follow counts a pair.
func (b *Builder) follow(p pair) {
	at, ok := slices.BinarySearchFunc(b.corpus.followed, p.bDocument, func(f followed, document uint32) int { return int(f.document) - int(document) })
	if !ok {
		return
	}
	label := 0
	if p.randomNext {
		label = 1
	}
	b.followed[at].Examples[b.counts.Examples%2][label]++
}
