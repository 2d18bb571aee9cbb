package vocab

import (
	"cmp"
	"context"
	"slices"

	"pretext/internal/portable"
)

// Limits of the pieces that Unigram training begins with.
const (
	maxSeeds      = 1_000_000
	maxSeedLength = 16      // characters of a piece
	maxSeedWords  = 500_000 // words from which pieces are taken, the most frequent
)

// A seed is a piece before training: its text is at places[first], and it occurs
// weight times.
type seed struct {
	at     int32 // in the text
	length int32
	weight int64
}

// seeds returns the pieces to begin with and how often they occur: the letters,
// and the maxSeeds substrings of words for which occurrences times length is
// highest. A substring that is always followed by the same letter is not one:
// the longer one is.
func seeds(ctx context.Context, c *corpus, letters []rune, least int64) ([]piece, error) {
	known := map[rune]bool{}
	for _, r := range letters {
		known[r] = true
	}
	f := &finder{least: least}
	err := c.most(ctx, maxSeedWords, func(count int64, word []byte) error {
		for _, r := range string(word) {
			if !known[r] {
				r = wordEnd
			}
			f.text, f.owners = append(f.text, r), append(f.owners, int32(len(f.counts)))
		}
		f.text, f.owners = append(f.text, wordEnd), append(f.owners, int32(len(f.counts)))
		f.counts = append(f.counts, count)
		return nil
	})
	if err != nil {
		return nil, err
	}
	f.run()
	var out []piece
	for _, r := range letters {
		out = append(out, piece{string(r), float64(c.letters[r])})
	}
	f.limit()
	for _, s := range f.seeds {
		out = append(out, piece{string(f.text[s.at : s.at+s.length]), float64(s.weight * int64(s.length))})
	}
	return out, nil
}

// wordEnd ends a word in the text of a finder.
const wordEnd = 0

// A finder finds frequent substrings with a list of all suffixes in order.
type finder struct {
	text   []rune
	owners []int32 // by place in the text: the index of its word
	counts []int64 // by word
	least  int64   // occurrences of a seed
	seeds  []seed
}

// run sorts the suffixes and collects the substrings with which neighbours
// begin.
func (f *finder) run() {
	places := f.places()
	// By length: the weight and the number of the suffixes so far that begin with
	// the same substring of that length as the last one.
	var weight, count [maxSeedLength + 2]int64
	for i, at := range places {
		suffix := f.suffix(at)
		for n := range suffix {
			weight[n+1] += f.counts[f.owners[at]]
			count[n+1]++
		}
		common := 0
		if i+1 < len(places) {
			next := f.suffix(places[i+1])
			for common < min(len(suffix), len(next)) && suffix[common] == next[common] {
				common++
			}
		}
		longer := int64(0) // suffixes with the substring that is one letter longer
		for n := len(suffix); n > common; n-- {
			if n >= 2 && count[n] != longer && weight[n] >= f.least {
				f.seeds = append(f.seeds, seed{at, int32(n), weight[n]})
			}
			longer = count[n]
			weight[n], count[n] = 0, 0
		}
		if len(f.seeds) >= 2*maxSeeds {
			f.limit()
		}
	}
}

// places returns the places of all suffixes in the order of their letters.
func (f *finder) places() []int32 {
	places := make([]int32, 0, len(f.text))
	for i, r := range f.text {
		if r != wordEnd {
			places = append(places, int32(i))
		}
	}
	slices.SortFunc(places, func(a, b int32) int {
		if c := slices.Compare(f.suffix(a), f.suffix(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	return places
}

// suffix returns the letters from a place to the end of the word, at most
// maxSeedLength.
func (f *finder) suffix(at int32) []rune {
	end := min(int(at)+maxSeedLength, len(f.text))
	s := f.text[at:end]
	if i := slices.Index(s, wordEnd); i >= 0 {
		s = s[:i]
	}
	return s
}

// limit keeps the best maxSeeds seeds, in order.
func (f *finder) limit() {
	slices.SortFunc(f.seeds, func(a, b seed) int {
		return cmp.Or(cmp.Compare(b.weight*int64(b.length), a.weight*int64(a.length)),
			slices.Compare(f.text[a.at:a.at+a.length], f.text[b.at:b.at+b.length]))
	})
	f.seeds = f.seeds[:min(len(f.seeds), maxSeeds)]
}

// logProbabilities turns occurrences into logarithms of probabilities.
func logProbabilities(pieces []piece) []piece {
	total := 0.0
	for _, p := range pieces {
		total += p.score
	}
	for i := range pieces {
		pieces[i].score = portable.Log(pieces[i].score) - portable.Log(total)
	}
	return pieces
}
