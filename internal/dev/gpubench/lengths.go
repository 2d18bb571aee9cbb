package main

import (
	"embed"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// files holds distributions of sequence lengths, with lines "length count".
//
// wikipedia-512 and wikipedia-128 count the examples that prepare-data made of the
// first 106 articles of an English Wikipedia dump, with dupe factor 5 and otherwise
// default options. These articles are long: the means are 369 and 113 tokens.
// uniform-512 has 20 % full sequences, and the rest evenly distributed from 32 to
// 350 tokens. Its mean is 255; MLPerf's English Wikipedia has 254.
//
//go:embed lengths
var files embed.FS

func lengthNames() []string {
	entries, err := files.ReadDir("lengths")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".txt"))
	}
	return names
}

// A distribution holds how often each sequence length occurs.
type distribution struct {
	lengths, counts []int
	total           int
	longest         int
}

// readLengths returns the distribution with the given name. In full-N all sequences
// have N tokens.
func readLengths(name string) (*distribution, error) {
	if number, ok := strings.CutPrefix(name, "full-"); ok {
		n, err := strconv.Atoi(number)
		if err != nil || n < 8 || n > 512 {
			return nil, fmt.Errorf("lengths %q: must be full-8 to full-512", name)
		}
		return &distribution{[]int{n}, []int{1}, 1, n}, nil
	}
	b, err := files.ReadFile("lengths/" + name + ".txt")
	if err != nil {
		return nil, fmt.Errorf("lengths %q: there are %s and full-N", name, strings.Join(lengthNames(), ", "))
	}
	d := &distribution{}
	for line := range strings.Lines(string(b)) {
		var length, count int
		if _, err := fmt.Sscan(line, &length, &count); err != nil {
			return nil, fmt.Errorf("lengths %s: %q: %w", name, line, err)
		}
		d.lengths, d.counts = append(d.lengths, length), append(d.counts, count)
		d.total += count
		d.longest = max(d.longest, length)
	}
	return d, nil
}

// draw returns random sequence lengths whose sum is tokens. The last sequence is
// shortened, or lengthened by a remainder of less than 16 tokens, to match the sum.
func (d *distribution) draw(tokens int, random *rand.Rand) []int {
	var all []int
	for tokens > 0 {
		at, i := random.IntN(d.total), 0
		for at >= d.counts[i] {
			at -= d.counts[i]
			i++
		}
		n := min(d.lengths[i], tokens)
		// The remaining tokens would be too few for another sequence: add them to this one.
		if tokens-n < 16 && tokens <= d.longest {
			n = tokens
		}
		all = append(all, n)
		tokens -= n
	}
	return all
}

// printLengths writes the distribution with the given name, one line "length count"
// for each length.
func printLengths(w io.Writer, name string) error {
	d, err := readLengths(name)
	if err != nil {
		return err
	}
	for i, n := range d.lengths {
		if _, err := fmt.Fprintln(w, n, d.counts[i]); err != nil {
			return err
		}
	}
	return nil
}
