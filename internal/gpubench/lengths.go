package main

import (
	"embed"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// files are counts of sequence lengths: lines "length count". They are those of
// the examples that prepare-data made of the first 106 articles of an English
// Wikipedia dump (dupe factor 5, defaults else) for 512 and 128 tokens: long
// articles, so the means are 369 and 113. uniform-512 is 20 % full sequences and
// the rest evenly from 32 to 350 tokens: mean 255, as the English Wikipedia of
// MLPerf has (254).
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

// A distribution is how often a sequence length occurs.
type distribution struct {
	lengths, counts []int
	total           int
	longest         int
}

// readLengths returns a distribution by name; full-N is N tokens always.
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

// draw returns lengths that add up to tokens: the last one is what is left.
func (d *distribution) draw(tokens int, random *rand.Rand) []int {
	var all []int
	for tokens > 0 {
		at, i := random.IntN(d.total), 0
		for at >= d.counts[i] {
			at -= d.counts[i]
			i++
		}
		n := min(d.lengths[i], tokens)
		// What would be left is too short for a sequence of its own.
		if tokens-n < 16 && tokens <= d.longest {
			n = tokens
		}
		all = append(all, n)
		tokens -= n
	}
	return all
}

// printLengths writes a distribution, a line a length and its count.
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
