package vocab

import (
	"bufio"
	"bytes"
	"fmt"
	"hash/maphash"
	"io"
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
}

type countsEntry struct {
	count int64
	start int // offset of the word in Counts.text; it ends where the next entry's word starts
	hash  uint32
}

// NewCounts returns an empty counter. Of the options it uses only Model,
// DoLowerCase and TokenizerProfile.
func NewCounts(o Options) (*Counts, error) {
	if o.TokenizerFile() {
		return &Counts{words: frames[o.Model].splitter(), seed: maphash.MakeSeed(), slots: make([]int32, 1<<12)}, nil
	}
	splitter, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: o.DoLowerCase, Profile: o.TokenizerProfile})
	if err != nil {
		return nil, fmt.Errorf("count words: %w", err)
	}
	return &Counts{splitter: splitter, seed: maphash.MakeSeed(), slots: make([]int32, 1<<12)}, nil
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
	hash := uint32(maphash.Bytes(c.seed, word))
	mask := uint32(len(c.slots) - 1)
	at := hash & mask
	for ; c.slots[at] != 0; at = (at + 1) & mask {
		n := int(c.slots[at] - 1)
		if e := &c.entries[n]; e.hash == hash && bytes.Equal(c.word(n), word) {
			e.count++
			return
		}
	}
	c.entries = append(c.entries, countsEntry{count: 1, start: len(c.text), hash: hash})
	c.text = append(c.text, word...)
	c.slots[at] = int32(len(c.entries))
	if 4*len(c.entries) > 3*len(c.slots) {
		c.grow()
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
	const entrySize = 24
	return int64(cap(c.text)) + int64(cap(c.slots))*4 + int64(cap(c.entries))*entrySize
}

// Reset removes all counts but keeps the memory.
func (c *Counts) Reset() {
	clear(c.slots)
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
