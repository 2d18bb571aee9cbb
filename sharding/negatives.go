package sharding

import (
	"cmp"
	"context"
	"math/bits"
	"slices"
)

// Negatives are the documents that random segments of a shard's examples may be of.
// Together the shards have each document of the corpus equally often.
type Negatives struct {
	Blocks BlockList `json:"blocks"`          // of other shards
	Parts  []Part    `json:"parts,omitempty"` // of blocks of which not all documents are used, in order
	Follow uint64    `json:"follow"`          // documents are followed ([pretrain.Followed]) whose hash is below it
	Own    []Range   `json:"own,omitempty"`   // of the shard's own documents, in the order of its blocks
}

// A Range is the numbers From ≤ n < To.
type Range struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// A Part is a range of the documents of a block.
type Part struct {
	Block int `json:"block"` // its number in a [BlockList], from 0
	Range
}

// NegativesAlgorithm is the version of the examples stage with
// [pretrain.NegativesCorpus]. Since 3, random segments are taken from all documents of
// the corpus equally often.
const NegativesAlgorithm = 3

// NegativesBytes is the least size in bytes of the text of which a shard's random
// segments are taken, if the corpus has as much.
const NegativesBytes = 1 << 20

// A line is documents in random order: those of all blocks with a similar number of
// documents. A shard has an interval of each line. If there were one line, a shard
// could have many more bytes than others, because documents of one size lie together.
type line struct {
	units []uint32
	ends  []int64 // number of documents up to the end of each unit
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

// lineOf returns the number of the line of a block with so many documents: those of 1,
// 2 to 7, 8 to 31 and so on.
func lineOf(documents int64) int { return bits.Len64(uint64(documents)) / 2 }

// prepareNegatives puts the units, which are in the order of assignment, into lines,
// and computes the shares of shards.
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

// start returns where the interval of a shard begins in a line: as many documents of
// all are before it as the shards before it have of the text. Shards are counted
// beyond the last one.
func (a *Assignment) start(l *line, shard int) int64 {
	n := l.documents()
	if shard >= a.Shards {
		return n + a.start(l, shard-a.Shards)
	}
	high, low := bits.Mul64(uint64(n), uint64(a.shares[shard]))
	at, _ := bits.Div64(high, low, uint64(a.TextBytes))
	return int64(at)
}

// negativesOf returns the negatives of a shard, nil without [pretrain.NegativesCorpus].
//
// The interval of a shard in a line ends where that of the shard begins that follows
// it by as many numbers as are needed for NegativesBytes of text, usually the next
// one. After the last shard comes the first.
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

// A unitPart is a range of the documents of a unit.
type unitPart struct {
	unit uint32
	Range
}

// append appends the documents of a line whose numbers are in r.
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

// collect returns the negatives of a shard that are the given parts, which are in
// source order.
func (a *Assignment) collect(shard int, list []unitPart) *Negatives {
	n := &Negatives{Follow: followBelow(a.documents())}
	own, before := a.of(shard), int64(0) // units, and documents of those that were passed
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

// appendRange appends r to ranges, or extends the last one if r follows it.
func appendRange(ranges []Range, r Range) []Range {
	if n := len(ranges); n > 0 && ranges[n-1].To == r.From {
		ranges[n-1].To = r.To
		return ranges
	}
	return append(ranges, r)
}

// A rangeCursor reports for ascending numbers whether a range has them.
type rangeCursor []Range

func (c *rangeCursor) has(n int64) bool {
	for len(*c) > 0 && (*c)[0].To <= n {
		*c = (*c)[1:]
	}
	return len(*c) > 0 && (*c)[0].From <= n
}

// addNegatives tokenizes the documents of n.Blocks that are used, each into the corpus
// of its split. Corpora are in the order of [ExamplesOptions.Splits].
func (n *Negatives) addNegatives(ctx context.Context, e *Encoder, o ExamplesOptions, locations []string, corpora []*Corpus) error {
	for _, c := range corpora {
		c.BeginNegatives()
	}
	parts := map[int]rangeCursor{}
	for _, p := range n.Parts {
		parts[p.Block] = append(parts[p.Block], p.Range)
	}
	block, number := 0, int64(0) // of the next document in the block
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
		split := o.split(doc.ID)
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
