package sharding

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
)

// followedDocuments is about how many documents of a corpus are followed, all if it has
// fewer.
const followedDocuments = 4096

// followHash returns the 48-bit number by which documents are chosen to be followed.
func followHash(id string) uint64 { return xxhash.Sum64String(id) >> 16 }

// followBelow returns the number below which followHash is for the documents that are
// followed.
func followBelow(documents int64) uint64 {
	const all = 1 << 48
	if documents <= followedDocuments {
		return all
	}
	return all / uint64(documents) * followedDocuments
}

// follow makes the corpus of a split follow its last document, if it is chosen. Only
// training examples are followed.
func (n *Negatives) follow(c *Corpus, split int, id string) {
	if hash := followHash(id); split == 0 && hash < n.Follow {
		c.Corpus.Follow(hash)
	}
}

// factFollowed is the beginning of the names of the facts of followed documents. The ID,
// the half and the label follow.
const factFollowed = "followed."

// followedFacts adds the counts of followed documents.
func (b *ShardBody) followedFacts(facts Counts) {
	for _, f := range b.Followed {
		for half, labels := range f.Examples {
			for label, n := range labels {
				facts[fmt.Sprintf("%s%012x.%d%d", factFollowed, f.ID, half, label)] += n
			}
		}
	}
}

// A LabelGuess is how well the document of segment B tells the label of an example.
// Labels are guessed: those of either half of the examples are, for each document, the
// more frequent label in the other half.
type LabelGuess struct {
	Documents int64 // followed
	Never     int64 // of them, those of which no random segment is
	Examples  int64 // whose segment B is of a followed document
	Right     int64 // labels that were guessed right

	// Chance is the fraction that would be right if random segments were of each
	// document equally often.
	Chance float64
}

// GuessLabels returns the LabelGuess of the facts of all shards. Its zero value means
// that no documents were followed.
func GuessLabels(facts Counts) (g LabelGuess) {
	documents := map[string]*[2][2]int64{}
	var random [2]int64 // of all documents, by half
	for name, n := range facts {
		id, ok := strings.CutPrefix(name, factFollowed)
		if !ok || len(id) < 3 {
			continue
		}
		half, label := id[len(id)-2]-'0', id[len(id)-1]-'0'
		id = id[:len(id)-3]
		if documents[id] == nil {
			documents[id] = new([2][2]int64)
		}
		if half > 1 || label > 1 {
			continue
		}
		documents[id][half][label] = n
		g.Examples += n
		if label == 1 {
			random[half] += n
		}
	}
	g.Documents = int64(len(documents))
	chance := 0.0
	for _, id := range slices.Sorted(maps.Keys(documents)) { // sums of floats depend on the order
		d := documents[id]
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
	return GuessLabels(facts), err
}

// limit returns the limit of Right/Examples.
func (g LabelGuess) limit() float64 { return g.Chance + LimitGuess }

// warnings returns a warning if the document of segment B tells the label.
func (g LabelGuess) warnings() []Warning {
	w := Warning{Code: WarnLabel, Count: g.Right, Of: g.Examples, Limit: g.limit()}
	if !exceeds(w) {
		return nil
	}
	return []Warning{w}
}
