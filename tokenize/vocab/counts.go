package vocab

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"math/bits"
	"math/rand/v2"
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
	mix      uint64  // odd, random: a text cannot be made whose words share slots
	slots    []int32 // open addressing: index of the entry plus 1, 0 if free
	shift    int     // 64 minus the bits of an index of slots
	entries  []countsEntry
	text     []byte // the words of more than shortWord bytes, concatenated
}

// shortWord is the maximum length in bytes of words that an entry holds itself.
const shortWord = 15

// A countsEntry is a word and its count. lo and hi are the bytes of a short word,
// little-endian and zero-padded. For a long one, lo is its offset in Counts.text, and hi
// has the bit longWord, some bits of a hash, and the length in the lower half.
type countsEntry struct {
	count  int64
	lo, hi uint64
}

const longWord = 1 << 63

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
	const slotBits = 12
	return &Counts{splitter: splitter, seed: maphash.MakeSeed(), mix: rand.Uint64() | 1, slots: make([]int32, 1<<slotBits), shift: 64 - slotBits}
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
	lo, hi := c.key(word)
	at, mask := c.slot(lo, hi), len(c.slots)-1
	for ; c.slots[at] != 0; at = (at + 1) & mask {
		if e := &c.entries[c.slots[at]-1]; c.same(e, lo, hi, word) {
			e.count++
			return
		}
	}
	if hi&longWord != 0 {
		lo, c.text = uint64(len(c.text)), append(c.text, word...)
	}
	c.entries = append(c.entries, countsEntry{1, lo, hi})
	c.slots[at] = int32(len(c.entries))
	if 2*len(c.entries) > len(c.slots) {
		c.grow()
	}
}

// key returns the word as in an entry; lo is 0 for a long word.
func (c *Counts) key(word []byte) (lo, hi uint64) {
	if len(word) > shortWord {
		return 0, longWord | maphash.Bytes(c.seed, word)>>1&^math.MaxUint32 | uint64(len(word))
	}
	if cap(word) <= shortWord {
		word = append(make([]byte, 0, shortWord+1), word...)
	}
	// All sixteen bytes are read, so that there is no branch for each length.
	b := word[:shortWord+1]
	lo = binary.LittleEndian.Uint64(b) &^ (math.MaxUint64 << (8 * len(word)))
	hi = binary.LittleEndian.Uint64(b[8:]) &^ (math.MaxUint64 << (8 * (max(len(word), 8) - 8)))
	return lo, hi
}

// slot returns the index of the slot where the search for a word begins.
func (c *Counts) slot(lo, hi uint64) int {
	if hi&longWord != 0 {
		lo = 0
	}
	return int((lo ^ bits.RotateLeft64(hi*c.mix, 32)) * c.mix >> c.shift)
}

// same reports whether e is the word, whose key is lo and hi.
func (c *Counts) same(e *countsEntry, lo, hi uint64, word []byte) bool {
	return e.hi == hi && (e.lo == lo && hi&longWord == 0 || hi&longWord != 0 && bytes.Equal(c.long(e), word))
}

// long returns the word of an entry that has longWord.
func (c *Counts) long(e *countsEntry) []byte { return c.text[e.lo:][:uint32(e.hi)] }

// Has reports whether the word was counted.
func (c *Counts) Has(word []byte) bool {
	lo, hi := c.key(word)
	mask := len(c.slots) - 1
	for at := c.slot(lo, hi); c.slots[at] != 0; at = (at + 1) & mask {
		if c.same(&c.entries[c.slots[at]-1], lo, hi, word) {
			return true
		}
	}
	return false
}

// All yields the distinct words and their counts.
// A word is valid until the next one.
func (c *Counts) All() iter.Seq2[[]byte, int64] {
	return func(yield func([]byte, int64) bool) {
		var word []byte
		for n := range c.entries {
			word = c.appendWord(word[:0], n)
			if !yield(word, c.entries[n].count) {
				return
			}
		}
	}
}

// appendWord appends the word of the entry with index n.
func (c *Counts) appendWord(dst []byte, n int) []byte {
	e := &c.entries[n]
	if e.hi&longWord != 0 {
		return append(dst, c.long(e)...)
	}
	dst = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, e.lo), e.hi)
	unused := bits.LeadingZeros64(e.hi) / 8
	if e.hi == 0 {
		unused += bits.LeadingZeros64(e.lo) / 8
	}
	return dst[:len(dst)-unused]
}

// compare compares the words of the entries with the indexes m and n.
func (c *Counts) compare(m, n int32) int {
	a, b := &c.entries[m], &c.entries[n]
	if a.hi&longWord == 0 && b.hi&longWord == 0 {
		return cmp.Or(cmp.Compare(bits.ReverseBytes64(a.lo), bits.ReverseBytes64(b.lo)),
			cmp.Compare(bits.ReverseBytes64(a.hi), bits.ReverseBytes64(b.hi)))
	}
	var short [2][shortWord + 1]byte
	return bytes.Compare(c.appendWord(short[0][:0], int(m)), c.appendWord(short[1][:0], int(n)))
}

// grow doubles the number of slots.
func (c *Counts) grow() {
	c.slots = make([]int32, 2*len(c.slots))
	c.shift--
	for n, e := range c.entries {
		at := c.slot(e.lo, e.hi)
		for c.slots[at] != 0 {
			at = (at + 1) & (len(c.slots) - 1)
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
	slices.SortFunc(order, c.compare)
	out := bufio.NewWriterSize(w, 1<<16)
	var line []byte
	var written int64
	for _, n := range order {
		line = append(c.appendWord(line[:0], int(n)), '\t')
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
