package filter

import (
	"pretext/counts"
	"pretext/extract/dedup"
)

// Documents that are similar, but not enough to be dropped, are tied: all of a cluster are
// held out, or none. The pairs are those that the search for near duplicates compares
// anyway. Ties are decided by the stage pairs, and the filter writes them into the documents
// ([extract.Document.SimilarTo]).

// tieLimit returns the number of documents above which a cluster is not tied: a thousandth
// of all, but at least eight. A wiki written by a program can be one cluster, and whether it
// is held out would change the size of the eval split.
func tieLimit(documents int) uint32 { return uint32(max(8, documents/1000)) }

// Values of decision.similarity for a document that is kept.
const (
	tied    = 2 // decision.of is the first document of its cluster
	tooMany = 3 // its cluster has more than [tieLimit] documents
)

var (
	tiedDocuments   = counts.Declare("tied", counts.About{Label: "similar to earlier ones", In: counts.Summary | counts.Stats, Sparse: true, Meaning: "kept documents that are in the split of a similar document"})
	untiedDocuments = counts.Declare("untied", counts.About{Label: "similar, in large clusters", In: counts.Summary | counts.Stats, Sparse: true, Meaning: "kept documents of a cluster of similar documents that is too large to be in one split"})
)

// ties are the clusters of similar documents.
type ties struct {
	clusters *dedup.Clusters
	kept     []uint32 // number of documents that are kept, by the first document of the cluster
}

// count counts the documents that are kept.
func (t *ties) count(documents int, kept func(document uint32) bool) {
	t.kept = make([]uint32, documents)
	for d := range uint32(documents) {
		if kept(d) {
			t.kept[t.clusters.First(d)]++
		}
	}
}

// of returns the decision about a document that is kept, without its index; ok is false if
// there is none, because the document is the first of its cluster, or no other one is kept.
func (t *ties) of(document uint32) (d decision, ok bool) {
	first := t.clusters.First(document)
	switch n := t.kept[first]; {
	case n < 2:
		return d, false
	case n > tieLimit(len(t.kept)):
		return decision{of: first, similarity: tooMany}, true
	}
	return decision{of: first, similarity: tied}, first != document
}
