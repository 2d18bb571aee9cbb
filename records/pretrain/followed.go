package pretrain

import "slices"

// Followed counts the examples whose segment B comes from one document. The counts show how
// well a model could guess the label of an example by recognizing that document.
type Followed struct {
	ID uint64 `json:"id"`

	// Examples is indexed by half and by label. Examples alternate between the two halves,
	// so that the labels of one half can be guessed from those of the other.
	Examples [2][2]int64 `json:"examples"`
}

// Follow marks the document that was completed last when Follow is called. A [Builder] then
// counts the examples whose segment B comes from that document, and reports the counts
// under id.
func (c *Corpus) Follow(id uint64) {
	c.followed = append(c.followed, followed{uint32(c.Documents() - 1), id})
}

// followed holds the number of a document in a corpus and its ID.
type followed struct {
	document uint32
	id       uint64
}

// Followed returns the counts of the last [Builder.Build] for the documents that were
// passed to [Corpus.Follow]. The result is valid until the next Build.
func (b *Builder) Followed() []Followed { return b.followed }

// beginFollowing resets the counts.
func (b *Builder) beginFollowing(c *Corpus) {
	b.followed = b.followed[:0]
	for _, f := range c.followed {
		b.followed = append(b.followed, Followed{ID: f.id})
	}
}

// follow counts a pair if segment B comes from a followed document.
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
