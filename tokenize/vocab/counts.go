package vocab

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math/bits"
	"slices"
	"strconv"

	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// Counts counts the words of text, as [tokenize.WordSplitter] splits them.
// Words above the profile's maximum length are not counted, because WordPiece
// maps them to [UNK].
//
// It must not be used by several goroutines at once.
type Counts struct {
	splitter *tokenize.WordSplitter
	words    *hf.Encoder // used instead of splitter for models other than WordPiece
	seed     maphash.Seed
	slots    []int32 // open addressing: index of the entry plus 1, 0 if free
	entries  []countsEntry
	text     []byte // all words, concatenated
	recent   *[1 << recentBits]recentWord
}

// A recentWord is a word of at most 15 bytes, zero-padded, and the index of its entry.
// Counts finds most words of a text among them. A word is in the slot of its hash.
type recentWord struct {
	lo, hi uint64
	entry  int32
}

const (
	recentBits = 14
	golden     = 0x9e3779b97f4a7c15 // a multiplier that spreads the bits of a word
)

type countsEntry struct {
	count int64
	start int // offset of the word in Counts.text; it ends where the next entry's word starts
	hash  uint32
}

// NewCounts returns an empty counter. Of the options it uses only Model,
// DoLowerCase and TokenizerProfile.
func NewCounts(o Options) (*Counts, error) {
	if o.TokenizerFile() {
		c := CountsOf(nil)
		c.words = frames[o.Model].splitter()
		return c, nil
	}
	splitter, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: o.DoLowerCase, Profile: o.TokenizerProfile})
	if err != nil {
		return nil, fmt.Errorf("count words: %w", err)
	}
	return CountsOf(splitter), nil
}

// CountsOf returns an empty counter of the splitter's words.
func CountsOf(splitter *tokenize.WordSplitter) *Counts {
	return &Counts{splitter: splitter, seed: maphash.MakeSeed(), slots: make([]int32, 1<<12), recent: new([1 << recentBits]recentWord)}
}

// Add counts the words of text.
func (c *Counts) Add(text string) {
	if c.words != nil {
		c.addWords(text)
		return
	}
	for word := range c.splitter.Words(text) {
		c.add(word)
	}
}

// addWords counts the words of text for a model other than WordPiece. It ignores words with
// control characters and words of more than 4 KiB.
func (c *Counts) addWords(text string) {
	for word := range c.words.Words(text) {
		if checkWord(word) == "" {
			c.add([]byte(word))
		}
	}
}

// add counts one occurrence of a word.
func (c *Counts) add(word []byte) {
	if len(word) >= 16 || cap(word) < 16 {
		c.entries[c.entry(word)].count++
		return
	}
	// Reads all of the 16 bytes, so that there is no branch for each length.
	b := word[:16]
	lo := binary.LittleEndian.Uint64(b) &^ (^uint64(0) << (8 * len(word)))
	hi := binary.LittleEndian.Uint64(b[8:]) &^ (^uint64(0) << (8 * (max(len(word), 8) - 8)))
	r := &c.recent[(lo^bits.RotateLeft64(hi*golden, 32))*golden>>(64-recentBits)]
	if r.lo != lo || r.hi != hi {
		*r = recentWord{lo, hi, c.entry(word)}
	}
	c.entries[r.entry].count++
}

// entry returns the index of the word's entry, which it adds if there is none.
func (c *Counts) entry(word []byte) int32 {
	at, hash := c.find(word)
	if n := c.slots[at]; n != 0 {
		return n - 1
	}
	c.entries = append(c.entries, countsEntry{start: len(c.text), hash: hash})
	c.text = append(c.text, word...)
	n := int32(len(c.entries))
	c.slots[at] = n
	if 4*len(c.entries) > 3*len(c.slots) {
		c.grow()
	}
	return n - 1
}

// find returns the index of the word's slot, or of the free one where it belongs.
func (c *Counts) find(word []byte) (at, hash uint32) {
	hash = uint32(maphash.Bytes(c.seed, word))
	mask := uint32(len(c.slots) - 1)
	for at = hash & mask; c.slots[at] != 0; at = (at + 1) & mask {
		n := int(c.slots[at] - 1)
		if e := &c.entries[n]; e.hash == hash && bytes.Equal(c.word(n), word) {
			break
		}
	}
	return at, hash
}

// Has reports whether the word was counted.
func (c *Counts) Has(word []byte) bool {
	at, _ := c.find(word)
	return c.slots[at] != 0
}

// All yields the distinct words and their counts, in the order of their first occurrence.
func (c *Counts) All() iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		for n, e := range c.entries {
			if !yield(c.word(n), e.count) {
				return
			}
		}
	}
}

// word returns the word of the entry with index n.
func (c *Counts) word(n int) []byte {
	end := len(c.text)
	if n+1 < len(c.entries) {
		end = c.entries[n+1].start
	}
	return c.text[c.entries[n].start:end]
}

// grow doubles the number of slots.
func (c *Counts) grow() {
	c.slots = make([]int32, 2*len(c.slots))
	mask := uint32(len(c.slots) - 1)
	for n, e := range c.entries {
		at := e.hash & mask
		for c.slots[at] != 0 {
			at = (at + 1) & mask
		}
		c.slots[at] = int32(n + 1)
	}
}

// Len returns the number of distinct words.
func (c *Counts) Len() int { return len(c.entries) }

// Size returns the memory in bytes that c uses. To limit it, write the counts to a file and
// reset them when they become too large; [Merge] adds up the files.
func (c *Counts) Size() int64 {
	const entrySize, recentSize = 24, 24
	return int64(cap(c.text)) + recentSize<<recentBits + int64(cap(c.slots))*4 + int64(cap(c.entries))*entrySize
}

// Reset removes all counts but keeps the memory.
func (c *Counts) Reset() {
	clear(c.slots)
	clear(c.recent[:])
	c.entries, c.text = c.entries[:0], c.text[:0]
}

// WriteTo writes the counts as a word-counts file (see the package comment) and
// returns the number of bytes written. The bytes depend only on the counts, not
// on the order in which words were added.
func (c *Counts) WriteTo(w io.Writer) (int64, error) {
	order := make([]int32, len(c.entries))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return bytes.Compare(c.word(int(a)), c.word(int(b))) })
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	var written int64
	for _, n := range order {
		line = append(append(line[:0], c.word(int(n))...), '\t')
		line = append(strconv.AppendInt(line, c.entries[n].count, 10), '\n')
		k, err := out.Write(line)
		written += int64(k)
		if err != nil {
			return written, fmt.Errorf("write word counts: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return written - int64(out.Buffered()), fmt.Errorf("write word counts: %w", err)
	}
	return written, nil
}
