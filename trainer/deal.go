package trainer

import (
	"cmp"
	"math/bits"
	"slices"
)

// Deal assigns the n micro-batches of a step, made by [Cut], to ranks. result[r]
// lists the micro-batches of rank r in ascending order, at most ⌈n/ranks⌉. Deal
// balances two sums over the ranks: tokens, the cost of everything computed per
// token, and squared sequence lengths, the cost of attention.
//
// Deal takes the micro-batches in descending order of cost and gives each to the
// rank with the least cost so far (Graham's longest processing time rule). Then
// ranks swap micro-batches as long as this improves the balance.
//
// The result is computed with integers and depends only on the arguments, so
// all ranks get the same result without exchanging data.
func Deal(lengths []int32, bounds []int, ranks int) [][]int {
	n := len(bounds) - 1
	d := dealing{costs: costs(lengths, bounds, ranks), dealt: make([][]int, ranks), load: make([]cost, ranks)}
	order := make([]int, n)
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d.costs[b].sum(), d.costs[a].sum()) })
	most := (n + ranks - 1) / ranks
	for _, j := range order {
		d.give(j, most)
	}
	for range swapsPerRank * ranks {
		if ranks == 1 || !d.swap() {
			break
		}
	}
	for _, list := range d.dealt {
		slices.Sort(list)
	}
	return d.dealt
}

// swapsPerRank limits the swaps in [Deal] to swapsPerRank·ranks. More improve the
// balance only a little.
const swapsPerRank = 2

// A cost holds the sums of tokens and of squared lengths of a micro-batch or a
// rank. The unit is 2^-20 of an even share: the step's sum divided by the number
// of ranks, rounded down. Because of the rounding, a rank may have up to 2·ranks
// shares.
type cost struct{ tokens, squares int64 }

func (c cost) sum() int64        { return c.tokens + c.squares }
func (c cost) plus(d cost) cost  { return cost{c.tokens + d.tokens, c.squares + d.squares} }
func (c cost) minus(d cost) cost { return cost{c.tokens - d.tokens, c.squares - d.squares} }

// excess returns the squared distance of a rank's load from an even share. Tokens
// weigh more than squared lengths, because attention takes less time than the
// rest of a layer: the ratio of their products is length/(6·hidden size).
func (c cost) excess() int64 {
	t, s := (c.tokens-evenShare)>>4, (c.squares-evenShare)>>4 // so that their squares fit in 64 bits with 4096 ranks
	return 4*t*t + s*s
}

const evenShare = 1 << 20

// enough is the load below which a rank needs no swaps: 0.5 % above an even share.
var enough = cost{evenShare + evenShare/200, evenShare + evenShare/200}

// costs returns the cost of every micro-batch.
func costs(lengths []int32, bounds []int, ranks int) []cost {
	list := make([]cost, len(bounds)-1)
	var total cost
	for j := range list {
		for _, n := range lengths[bounds[j]:bounds[j+1]] {
			list[j] = list[j].plus(cost{int64(n), int64(n) * int64(n)})
		}
		total = total.plus(list[j])
	}
	tokens, squares := max(1, total.tokens/int64(ranks)), max(1, total.squares/int64(ranks))
	for j, c := range list {
		list[j] = cost{inShares(c.tokens, tokens), inShares(c.squares, squares)}
	}
	return list
}

// inShares returns x·evenShare/share.
func inShares(x, share int64) int64 {
	high, low := bits.Mul64(uint64(x), evenShare)
	quotient, _ := bits.Div64(high, low, uint64(share))
	return int64(quotient)
}

// dealing is the state of [Deal]: the micro-batches that each rank has so far.
type dealing struct {
	costs []cost // of the micro-batches
	dealt [][]int
	load  []cost // of the ranks
}

// give assigns micro-batch j to the rank with the least cost, among the ranks with
// fewer than most micro-batches.
func (d *dealing) give(j, most int) {
	least := -1
	for r := range d.dealt {
		if len(d.dealt[r]) < most && (least < 0 || d.load[r].sum() < d.load[least].sum()) {
			least = r
		}
	}
	d.dealt[least], d.load[least] = append(d.dealt[least], j), d.load[least].plus(d.costs[j])
}

// swap exchanges one micro-batch of the rank with the largest excess for one of
// another rank. It takes the pair that lowers the sum of both excesses most. It
// returns false if no pair does, or if the load is already even enough.
func (d *dealing) swap() bool {
	a := 0
	for r := range d.load {
		if d.load[r].excess() > d.load[a].excess() {
			a = r
		}
	}
	if d.load[a].excess() <= enough.excess() {
		return false
	}
	var best struct{ gain, rank, mine, theirs int64 }
	for b := range d.dealt {
		before := d.load[a].excess() + d.load[b].excess()
		for i, j := range d.dealt[a] {
			for k, l := range d.dealt[b] {
				moved := d.costs[j].minus(d.costs[l])
				after := d.load[a].minus(moved).excess() + d.load[b].plus(moved).excess()
				if gain := before - after; b != a && gain > best.gain {
					best.gain, best.rank, best.mine, best.theirs = gain, int64(b), int64(i), int64(k)
				}
			}
		}
	}
	if best.gain == 0 {
		return false
	}
	mine, theirs := &d.dealt[a][best.mine], &d.dealt[best.rank][best.theirs]
	moved := d.costs[*mine].minus(d.costs[*theirs])
	d.load[a], d.load[best.rank] = d.load[a].minus(moved), d.load[best.rank].plus(moved)
	*mine, *theirs = *theirs, *mine
	return true
}
