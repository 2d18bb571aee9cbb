package vocab

import (
	"cmp"
	"context"
	"slices"

	"pretext/internal/portable"
)

// Limits of the initial pieces of Unigram training.
const (
	maxSeeds      = 1_000_000
	maxSeedLength = 16      // maximum length of a piece in characters
	maxSeedWords  = 500_000 // number of most frequent words from which pieces are taken
)

// A seed is a piece before training: a substring of finder.text that occurs weight times.
type seed struct {
	at     int32 // position in the text
	length int32
	weight int64
}

// seeds returns the initial pieces with their number of occurrences: the letters, and the
// maxSeeds substrings of words with the highest product of occurrences and length. If a
// substring is always followed by the same letter, only the longer substring is a
// candidate.
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

// wordEnd is written after each word in the text of a finder.
const wordEnd = 0

// A finder finds frequent substrings with a sorted list of all suffixes.
type finder struct {
	text   []rune
	owners []int32 // by position in the text: the index of its word
	counts []int64 // by word
	least  int64   // minimum number of occurrences of a seed
	seeds  []seed
}

// run sorts the suffixes and collects the common prefixes of neighbours.
func (f *finder) run() {
	places := f.places()
	// By length n: the total weight, and the number, of the suffixes so far whose first n
	// letters equal those of the last suffix.
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
		longer := int64(0) // number of suffixes with the substring that is one letter longer
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

// places returns the positions of all suffixes, sorted by their letters.
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

// suffix returns the letters from a position to the end of the word, at most maxSeedLength.
func (f *finder) suffix(at int32) []rune {
	end := min(int(at)+maxSeedLength, len(f.text))
	s := f.text[at:end]
	if i := slices.Index(s, wordEnd); i >= 0 {
		s = s[:i]
	}
	return s
}

// limit sorts the seeds by the product of weight and length, and keeps the best maxSeeds.
func (f *finder) limit() {
	slices.SortFunc(f.seeds, func(a, b seed) int {
		return cmp.Or(cmp.Compare(b.weight*int64(b.length), a.weight*int64(a.length)),
			slices.Compare(f.text[a.at:a.at+a.length], f.text[b.at:b.at+b.length]))
	})
	f.seeds = f.seeds[:min(len(f.seeds), maxSeeds)]
}

// logProbabilities replaces the occurrences in pieces by the logarithms of their
// probabilities.
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
