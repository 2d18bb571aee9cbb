package sharding

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
)

// Negatives select the documents from which the random segments of a shard's examples are
// drawn. Over all shards, each document of the corpus occurs equally often.
type Negatives struct {
	Blocks BlockList `json:"blocks"`          // blocks of other shards
	Parts  []Part    `json:"parts,omitempty"` // ranges of documents in partly used blocks, in order
	Follow uint64    `json:"follow"`          // documents with a hash below Follow are followed ([pretrain.Followed])
	Own    []Range   `json:"own,omitempty"`   // ranges of the shard's own documents, in the order of its blocks
}

// A Range contains the numbers n with From ≤ n < To.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A Part is a range of the documents in a block.
type Part struct {
	Block int `json:"block"` // index in a [BlockList]
	Range
}

// NegativesAlgorithm is the version of the examples stage with
// [pretrain.NegativesCorpus]. Since version 3, random segments are drawn equally often
// from all documents of the corpus.
const NegativesAlgorithm = 3

// NegativesBytes is the minimum size, in bytes, of the text from which a shard's random
// segments are drawn. A smaller corpus is used whole.
const NegativesBytes = 1 << 20

// A line lists, in random order, the documents of all blocks with a similar number of
// documents. Each shard gets an interval of each line. With a single line, a shard could
// get many more bytes than others, because a block contains documents of similar size.
type line struct {
	units []uint32
	ends  []int64 // number of documents in all units up to and including each one
}

// documents returns the number of documents of a line.
func (l *line) documents() int64 {
	if len(l.ends) == 0 {
		return 0
	}
	return l.ends[len(l.ends)-1]
}

// documents returns the number of documents of all lines.
func (a *Assignment) documents() (n int64) {
	for i := range a.lines {
		n += a.lines[i].documents()
	}
	return n
}

// lineOf returns the index of the line for a block with the given number of documents.
// The lines are for 1 document, 2 to 7, 8 to 31 and so on.
func lineOf(documents int64) int { return bits.Len64(uint64(documents)) / 2 }

// prepareNegatives distributes the units to lines, keeping their order, and computes
// a.shares. order is the order of assignment.
func (a *Assignment) prepareNegatives(order []dealt) {
	for _, d := range order {
		file, block := a.place(d.block)
		n := a.files[file].Blocks[block].Documents
		for len(a.lines) <= lineOf(n) {
			a.lines = append(a.lines, line{})
		}
		l := &a.lines[lineOf(n)]
		l.ends = append(l.ends, l.documents()+n)
		l.units = append(l.units, d.block)
	}
	a.shares = make([]int64, a.Shards+1)
	for shard := range a.Shards {
		a.shares[shard+1] = a.shares[shard]
		for _, unit := range a.of(shard) {
			file, block := a.place(unit)
			a.shares[shard+1] += a.text(file, block)
		}
	}
}

// start returns the document index at which a shard's interval of l starts. It divides l in
// proportion to text: if the shards before this one hold 30 % of the text, the interval
// starts after 30 % of l's documents. l is circular: for a shard number of a.Shards or more,
// the index continues past the end of l.
func (a *Assignment) start(l *line, shard int) int64 {
	n := l.documents()
	if shard >= a.Shards {
		return n + a.start(l, shard-a.Shards)
	}
	high, low := bits.Mul64(uint64(n), uint64(a.shares[shard]))
	at, _ := bits.Div64(high, low, uint64(a.TextBytes))
	return int64(at)
}

// negativesOf returns the negatives of a shard, or nil without
// [pretrain.NegativesCorpus].
//
// In each line, the interval of a shard ends at the start of a later shard's interval:
// usually the next shard's, or a later one if NegativesBytes of text need more shards.
// After the last shard comes the first again.
func (a *Assignment) negativesOf(shard int) *Negatives {
	if a.lines == nil {
		return nil
	}
	each := max(1, a.TextBytes/int64(a.Shards))
	follows := int(min(int64(a.Shards), (NegativesBytes+each-1)/each))
	var list []unitPart
	for i := range a.lines {
		l := &a.lines[i]
		from, to, all := a.start(l, shard), a.start(l, shard+follows), l.documents()
		list = l.append(list, Range{from, min(to, all)})
		list = l.append(list, Range{0, to - all})
	}
	slices.SortFunc(list, func(x, y unitPart) int {
		return cmp.Or(cmp.Compare(x.unit, y.unit), cmp.Compare(x.From, y.From))
	})
	return a.collect(shard, list)
}

// A unitPart is a range of the documents in a unit.
type unitPart struct {
	unit uint32
	Range
}

// append appends those documents of a line whose indexes are in r to list.
func (l *line) append(list []unitPart, r Range) []unitPart {
	i, _ := slices.BinarySearch(l.ends, r.From+1)
	for ; i < len(l.ends); i++ {
		first := int64(0)
		if i > 0 {
			first = l.ends[i-1]
		}
		if first >= r.To {
			break
		}
		part := Range{max(r.From, first) - first, min(r.To, l.ends[i]) - first}
		if part.From < part.To {
			list = append(list, unitPart{l.units[i], part})
		}
	}
	return list
}

// collect converts parts of units to the negatives of a shard. list must be in source
// order.
func (a *Assignment) collect(shard int, list []unitPart) *Negatives {
	n := &Negatives{Follow: followBelow(a.documents())}
	own, before := a.of(shard), int64(0) // the shard's units, and the number of documents in those already passed
	blocks, last := 0, uint32(nobody)
	for _, p := range list {
		file, block := a.place(p.unit)
		all := a.files[file].Blocks[block].Documents
		for len(own) > 0 && own[0] < p.unit {
			f, b := a.place(own[0])
			before += a.files[f].Blocks[b].Documents
			own = own[1:]
		}
		if len(own) > 0 && own[0] == p.unit {
			n.Own = appendRange(n.Own, Range{before + p.From, before + p.To})
			continue
		}
		if p.unit != last {
			n.Blocks.add(a.files[file].FileBlocks, block)
			blocks, last = blocks+1, p.unit
		}
		if p.From > 0 || p.To < all {
			n.Parts = append(n.Parts, Part{blocks - 1, p.Range})
		}
	}
	return n
}

// appendRange appends r to ranges, or extends the last range if r follows it
// directly.
func appendRange(ranges []Range, r Range) []Range {
	if n := len(ranges); n > 0 && ranges[n-1].To == r.From {
		ranges[n-1].To = r.To
		return ranges
	}
	return append(ranges, r)
}

// A rangeCursor reports whether a number is in a list of ranges. It must be asked for
// ascending numbers.
type rangeCursor []Range

func (c *rangeCursor) has(n int64) bool {
	for len(*c) > 0 && (*c)[0].To <= n {
		*c = (*c)[1:]
	}
	return len(*c) > 0 && (*c)[0].From <= n
}

// addNegatives tokenizes the used documents of n.Blocks and adds each to the corpus of
// its split. corpora is in the order of [ExamplesOptions.Splits].
func (n *Negatives) addNegatives(ctx context.Context, e *Encoder, o ExamplesOptions, locations []string, corpora []*Corpus) error {
	for _, c := range corpora {
		c.BeginNegatives()
	}
	parts := map[int]rangeCursor{}
	for _, p := range n.Parts {
		parts[p.Block] = append(parts[p.Block], p.Range)
	}
	block, number := 0, int64(0) // position of the next document: index of its block, and index in the block
	next := func(int64) { block, number = block+1, 0 }
	for doc, err := range n.Blocks.Documents(ctx, locations, next) {
		if err != nil {
			return err
		}
		ranges, partly := parts[block]
		used := !partly || ranges.has(number)
		number++
		if !used {
			continue
		}
		split := o.split(doc.SplitID())
		before := corpora[split].Documents()
		if err := e.Add(corpora[split], doc); err != nil {
			return err
		}
		if corpora[split].Documents() > before {
			n.follow(corpora[split], split, doc.ID)
		}
	}
	return nil
}
