// Package dedup finds exact and near duplicates among the documents of a corpus
// of any size.
//
// Texts are compared by their words only, in NFKC and lower case, without
// punctuation and white space. Texts with the same word sequence are exact
// duplicates ([Sketch.Digest], 128 bits of SHA-256). A shingle is a sequence of
// [Options.Shingle] consecutive words. Two texts are near duplicates if their
// sets of shingles have at least the Jaccard similarity [Options.Threshold].
//
// Near duplicates are found by MinHash and locality-sensitive hashing (Broder
// 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets, §3.4). With
// [Options.Bands] bands of [Options.Rows] minima, two texts of similarity s
// become candidates with probability 1 − (1 − s^rows)^bands. The [Jaccard]
// similarity of the sets decides whether a candidate is a near duplicate. So no
// pair below the threshold counts as one. With the defaults (30 bands of 4 rows),
// 98.4 % of the pairs of similarity 0.6 are found ([Options.Similar]), and of those at the
// threshold of 0.8 all but one in ten million.
//
//	s, err := dedup.NewSketcher(dedup.Options{Threshold: 0.8})
//	...
//	var b dedup.Builder
//	for _, doc := range documents {
//		b.Add(doc.ID, s.Sketch(doc.Text))
//	}
//	_, err = b.WriteTo(file) // opened again as Signatures
//
// Sketches are stored by column in signature files ([Signatures]), one for each
// part of the corpus. From these files an [Index] finds equal digests and, band
// by band, candidates, within a memory budget. [Clusters] joins duplicates; the
// first document of each cluster is kept.
//
// # Containment
//
// A novel and a collection of five novels that includes it have a low Jaccard
// similarity. If [Options.Containment] is set, one in 128 shingles of each text
// is kept as a sample ([SampleBuilder], [Samples]). Pairs that share enough
// samples are candidates of [Containment]. [Contained], the fraction of one
// text's shingles in the other, decides. Only texts with at least 16 samples,
// about 2,000 words, are searched in others.
//
// # Words
//
// A word is a maximal run of letters, marks and numbers; in scripts written
// without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) each
// character is a word. A text with fewer words than a shingle has a single
// shingle, the whole text. A text without words has no shingle; its digest is
// the digest of the text itself.
//
// Shingles are 64-bit hashes. If a set has more than 65,536 hashes, only those
// divisible by a certain power of two are kept. A comparison uses the same power for
// both sets. The similarity is then an estimate with a standard deviation of at most
// 0.003. With this limit, a set takes at most 2 MB while it is computed, and at most
// 0.5 MB afterwards.
//
// # Memory
//
// A [Sketcher] takes 2 MB. An [Index] takes four bytes for each document (4 MB
// for a million) for the clusters, and sorts in the rest of its budget: 24 MB
// for a million documents to sort everything at once, or less if columns are
// read several times. A [Containment] takes four more bytes for each document
// and sorts in the same way. Time is linear in the text, and N log N in the
// number of documents.
//
// The types are not safe for concurrent use.
package dedup

import (
	"errors"
	"fmt"
	"math"
)

// Options configures a [Sketcher]. The zero value of a field means its default.
type Options struct {
	Threshold float64 `json:"threshold"`     // minimum Jaccard similarity of near duplicates, in (0, 1]; default 0.8
	Shingle   int     `json:"shingle_words"` // words per shingle, 1 to 64; default 5
	Bands     int     `json:"bands"`         // bands of the locality-sensitive hash; 0: see [Options.WithDefaults]
	Rows      int     `json:"rows"`          // minima per band; 0: see [Options.WithDefaults]
	// Containment is a minimum fraction, in (0, 1]. A text counts as contained in
	// another text if at least this fraction of its shingles is in the other. 0
	// disables the search.
	Containment float64 `json:"containment,omitempty"`
	// Similar is a minimum similarity, at most Threshold. Documents with it are not
	// duplicates, but belong to the same split; default 0.6, or Threshold if that is lower.
	Similar float64 `json:"similar"`
}

// Defaults of [Options]. Shingles of five words are in common use, with similar
// thresholds (0.75: Penedo et al. 2024, FineWeb; 0.8: Lee et al. 2022,
// "Deduplicating training data makes language models better").
const (
	defaultThreshold = 0.8
	defaultShingle   = 5
	permutations     = 120  // number of minima; other tools use 112 or 128
	wantedRecall     = 0.99 // of pairs at the threshold
	defaultSimilar   = 0.6
	similarRecall    = 0.98 // of pairs at Similar
)

// WithDefaults returns the options with every field set. It divides about 120 minima
// into bands. Rows is the largest number for which a pair at the threshold becomes a
// candidate with a probability of at least 0.99, and a pair at Similar with 0.98. For 0.8
// and 0.6, there are 30 bands of 4 rows.
func (o Options) WithDefaults() Options {
	if o.Threshold == 0 {
		o.Threshold = defaultThreshold
	}
	if o.Similar == 0 {
		o.Similar = min(defaultSimilar, o.Threshold)
	}
	if o.Shingle == 0 {
		o.Shingle = defaultShingle
	}
	if o.Rows == 0 && o.Bands == 0 {
		o.Rows = 1
		for r := 2; r <= permutations/2; r++ {
			if all := o.with(permutations/r, r); all.Recall(o.Threshold) >= wantedRecall && all.Recall(o.Similar) >= similarRecall {
				o.Rows = r
			}
		}
		o.Bands = permutations / o.Rows
	}
	return o
}

func (o Options) with(bands, rows int) Options {
	o.Bands, o.Rows = bands, rows
	return o
}

// Recall returns the probability that a pair with the given similarity becomes
// a candidate.
func (o Options) Recall(similarity float64) float64 {
	return 1 - math.Pow(1-math.Pow(similarity, float64(o.Rows)), float64(o.Bands))
}

// Validate reports every field whose value is invalid, in one error. Call
// [Options.WithDefaults] first.
func (o Options) Validate() error {
	var errs []error
	if !(o.Threshold > 0 && o.Threshold <= 1) {
		errs = append(errs, fmt.Errorf("threshold %g: must be above 0 and at most 1", o.Threshold))
	}
	if o.Shingle < 1 || o.Shingle > 64 {
		errs = append(errs, fmt.Errorf("shingle_words %d: must be between 1 and 64", o.Shingle))
	}
	if !(o.Containment >= 0 && o.Containment <= 1) {
		errs = append(errs, fmt.Errorf("containment %g: must be above 0 and at most 1, or 0 for none", o.Containment))
	}
	if !(o.Similar > 0 && o.Similar <= o.Threshold) {
		errs = append(errs, fmt.Errorf("similar %g: must be above 0 and at most threshold", o.Similar))
	}
	if o.Bands < 1 || o.Rows < 1 || o.Bands*o.Rows > 1024 {
		errs = append(errs, fmt.Errorf("%d bands of %d rows: both must be at least 1, their product at most 1024", o.Bands, o.Rows))
	}
	return errors.Join(errs...)
}
