package sharding

import (
	"cmp"
	"context"
	"slices"

	"github.com/cespare/xxhash/v2"

	"pretext/records/pretrain"
)

// followedDocuments is the approximate number of documents in the sample, or all if the
// corpus has fewer. Labels are counted only for examples whose segment B comes from a
// document in the sample; these documents are called followed.
const followedDocuments = 4096

// followHash returns a 48-bit hash of a document's ID, which determines whether the
// document is followed.
func followHash(id string) uint64 { return xxhash.Sum64String(id) >> 16 }

// followBelow returns the limit for followHash: documents with a hash below it are
// followed.
func followBelow(documents int64) uint64 {
	const all = 1 << 48
	if documents <= followedDocuments {
		return all
	}
	return all / uint64(documents) * followedDocuments
}

// follow marks the document that was last added to c as followed, if its hash is below
// the limit. Only the train split is followed.
func (n *Negatives) follow(c *Corpus, split int, id string) {
	if hash := followHash(id); n.follows(split, hash) {
		c.Corpus.Follow(hash)
	}
}

func (n *Negatives) follows(split int, hash uint64) bool { return split == 0 && hash < n.Follow }

// addFollowed merges two lists sorted by ID, and adds up the counts of documents in both.
func addFollowed(a, b []pretrain.Followed) (sum []pretrain.Followed) {
	if len(b) == 0 {
		return a
	}
	all := slices.SortedFunc(slices.Values(slices.Concat(a, b)), func(x, y pretrain.Followed) int { return cmp.Compare(x.ID, y.ID) })
	for _, f := range all {
		if n := len(sum); n == 0 || sum[n-1].ID != f.ID {
			sum = append(sum, f)
			continue
		}
		have := &sum[len(sum)-1].Examples
		for half, labels := range f.Examples {
			for label, n := range labels {
				have[half][label] += n
			}
		}
	}
	return sum
}

// A LabelGuess measures how well the document of segment B predicts the label of an
// example. The examples are divided into two halves. For each document, the labels in one
// half are predicted by the document's more frequent label in the other half.
type LabelGuess struct {
	Documents int64 // number of followed documents
	Never     int64 // number of followed documents that no random segment comes from
	Examples  int64 // number of examples whose segment B comes from a followed document
	Right     int64 // number of labels that were predicted correctly

	// Chance is the expected fraction of correct predictions if random segments came from
	// all documents equally often.
	Chance float64
}

// guessLabels returns the LabelGuess of followed documents. followed contains sums over
// all shards, sorted by ID, because sums of floats depend on the order. If it is empty,
// guessLabels returns the zero value.
func guessLabels(followed []pretrain.Followed) (g LabelGuess) {
	g.Documents = int64(len(followed))
	var random [2]int64 // number of random segments in each half, from all documents
	for _, f := range followed {
		for half, labels := range f.Examples {
			g.Examples += labels[0] + labels[1]
			random[half] += labels[1]
		}
	}
	chance := 0.0
	for _, f := range followed {
		d := f.Examples
		if d[0][1]+d[1][1] == 0 {
			g.Never++
		}
		for half, labels := range d {
			other := d[1-half]
			guess := 0
			if other[1] > other[0] {
				guess = 1
			}
			g.Right += labels[guess]
			mean, otherMean := float64(random[half])/float64(g.Documents), float64(random[1-half])/float64(g.Documents)
			if otherMean > float64(other[0]) {
				chance += mean
			} else {
				chance += float64(labels[0])
			}
		}
	}
	if g.Examples > 0 {
		g.Chance = chance / float64(g.Examples)
	}
	return g
}

// ReadLabelGuess returns the LabelGuess of a folder of shards.
func ReadLabelGuess(ctx context.Context, folder Folder, m *Manifest) (LabelGuess, error) {
	var o ExamplesOptions
	if err := m.DecodeOptions(folder, &o); err != nil || o.NSPNegatives == "" {
		return LabelGuess{}, err
	}
	facts, err := readFacts(ctx, folder, m, o)
	if err != nil {
		return LabelGuess{}, err
	}
	return guessLabels(facts.Followed), nil
}

// warnings returns a warning if the document of segment B predicts the label.
func (g LabelGuess) warnings() []Warning {
	w := Warning{Code: warnLabel, Count: g.Right, Of: g.Examples, Limit: g.Chance + LimitGuess}
	if !exceeds(w) {
		return nil
	}
	return []Warning{w}
}
