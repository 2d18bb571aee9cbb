// Package dedup finds documents of equal and of nearly equal text in corpora of
// any size.
//
// Texts are compared by their words alone: NFKC, lower case, no punctuation, no
// white space. Equal word sequences are equal texts ([Sketch.Digest], 128 bits
// of SHA-256). Nearly equal are texts whose sets of shingles, the runs of
// [Options.Shingle] consecutive words, have a Jaccard similarity of the
// threshold or more. Such pairs are found by MinHash and locality-sensitive
// hashing (Broder 1997; Leskovec, Rajaraman, Ullman, Mining of Massive Datasets,
// §3.4): [Options.Bands] bands of [Options.Rows] minima each make two texts of
// similarity s candidates with probability 1 − (1 − s^rows)^bands, and each
// candidate is then decided by the [Jaccard] similarity of the sets themselves.
// So no pair below the threshold is taken for similar, and with the defaults
// (0.8; 20 bands of 6) 99.8 % of the pairs at the threshold are found, nearly
// all above it.
//
//	s, err := dedup.NewSketcher(dedup.Options{Threshold: 0.8})
//	...
//	var b dedup.Builder
//	for _, doc := range documents {
//		b.Add(doc.ID, s.Sketch(doc.Text))
//	}
//	file = b.AppendTo(file) // a Signatures, to be opened again
//
// Sketches are kept in files of columns, a [Signatures] for each part of the
// corpus, from which [Index] finds equal digests and candidates band by band in
// as little memory as it is given. [Clusters] joins what is similar; of each
// cluster the document that comes first is kept.
//
// # Texts in other texts
//
// A novel in a collection of five is little like the collection by Jaccard's
// measure. Where [Options.Containment] is set, one shingle in 128 is kept of each
// text as a sample ([SampleBuilder], [Samples]); pairs that share enough of them
// are candidates of [Containment], decided by [Contained], the share of the one's
// shingles that the other has. Only texts of 16 samples or more, about 2,000
// words, are looked for.
//
// # Words
//
// A word is a maximal run of letters, marks and numbers; in scripts written
// without spaces (Han, Hiragana, Katakana, Thai, Lao, Khmer, Myanmar) each
// character is one. A text of fewer words than a shingle has one shingle, all
// of it; a text without words has none, and only its digest, that of the text
// itself.
//
// Shingles are 64-bit hashes. Sets of more than 65,536 are thinned to those
// divisible by a power of two, both sides of a comparison to the larger one, so
// that their similarity is an estimate, with a standard deviation of at most
// 0.003, and a set takes 2 MB while it is made and 0.5 MB after it, whatever the
// text.
//
// # Memory
//
// A [Sketcher] takes 2 MB. An [Index] takes four bytes a document for the
// clusters (4 MB a million) and sorts what is left of its budget at a time:
// 24 MB a million documents when everything is sorted at once, less when
// columns are read several times. A [Containment] takes four bytes a document more
// and sorts in the same way. Time is linear in the text, and N log N in
// the documents.
//
// Nothing here is safe for concurrent use.
package dedup

import (
	"errors"
	"fmt"
	"math"
)

// Options configures a [Sketcher]. The zero value of a field means its default.
type Options struct {
	Threshold float64 `json:"threshold"`     // Jaccard similarity from which texts are nearly equal, in (0, 1]; default 0.8
	Shingle   int     `json:"shingle_words"` // words of a shingle, 1 to 64; default 5
	Bands     int     `json:"bands"`         // of the locality-sensitive hash; 0: see [Options.WithDefaults]
	Rows      int     `json:"rows"`          // minima of a band; 0: see [Options.WithDefaults]
	// Containment is the share of a text's shingles that another text has from
	// which it is contained in it, in (0, 1]; 0: such texts are not looked for.
	Containment float64 `json:"containment,omitempty"`
}

// Defaults: five words and 0.8 are what FineWeb's makers and others use (Penedo
// et al. 2024 with 0.75; Lee et al. 2022, "Deduplicating training data makes
// language models better", with 0.8).
const (
	defaultThreshold = 0.8
	defaultShingle   = 5
	permutations     = 120 // about as many minima as others compute: 112, 128
	wantedRecall     = 0.99
)

// WithDefaults returns the options with every field set. Rows is the largest
// number with which about 120 minima find a pair at the threshold with
// probability 0.99 or more: 6 in 20 bands for 0.8.
func (o Options) WithDefaults() Options {
	if o.Threshold == 0 {
		o.Threshold = defaultThreshold
	}
	if o.Shingle == 0 {
		o.Shingle = defaultShingle
	}
	if o.Rows == 0 && o.Bands == 0 {
		o.Rows = 1
		for r := 2; r <= permutations/2; r++ {
			if o.with(permutations/r, r).Recall(o.Threshold) >= wantedRecall {
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

// Recall is the probability that a pair of a similarity becomes a candidate.
func (o Options) Recall(similarity float64) float64 {
	return 1 - math.Pow(1-math.Pow(similarity, float64(o.Rows)), float64(o.Bands))
}

// Validate returns all that is wrong with options that have their defaults.
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
	if o.Bands < 1 || o.Rows < 1 || o.Bands*o.Rows > 1024 {
		errs = append(errs, fmt.Errorf("%d bands of %d rows: must be at least one each and at most 1024 minima", o.Bands, o.Rows))
	}
	return errors.Join(errs...)
}
