package parquetfile

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go/format"

	"pretext/records/columns"
)

// A chunk holds the values of one column of a row group. Floats are held as their bits.
type chunk struct {
	column columns.Column
	values []uint32
	ends   []int // end of each row in values, if the column has lists

	words []uint32 // dictionary: the distinct values, the most frequent first
	at    []uint32 // index into words of each value
	count []uint32 // uses of each value below len(count), then its index
	keys  []uint64 // of words, in their order
}

// Limits of the values in a dictionary: its table, which is as long as the largest of them,
// must not take longer to clear than the values take to count. No vocabulary has mostWords.
const (
	mostWords    = 1 << 22
	mostPerValue = 16
)

func (c *chunk) add(v columns.Value) {
	n := len(c.values)
	c.values = slices.Grow(c.values, len(v.Ints)+len(v.Floats))[:n+len(v.Ints)+len(v.Floats)]
	out := c.values[n:]
	for i, value := range v.Ints {
		out[i] = uint32(value)
	}
	for i, value := range v.Floats {
		out[len(v.Ints)+i] = math.Float32bits(value)
	}
	if c.column.Len != 1 {
		c.ends = append(c.ends, len(c.values))
	}
}

func (c *chunk) len() int { return len(c.values) }

func (c *chunk) reset() { c.values, c.ends = c.values[:0], c.ends[:0] }

// physical returns the Parquet type of the values.
func (c *chunk) physical() format.Type {
	switch c.column.Type {
	case columns.Float32:
		return format.Float
	case columns.Int64:
		return format.Int64
	}
	return format.Int32
}

// index sets words and at. It returns false if values are too large for a dictionary, or
// rarely repeated.
func (c *chunk) index() bool {
	if c.column.Type == columns.Float32 {
		return c.search()
	}
	most := slices.Max(c.values)
	if most >= mostWords || int(most) > mostPerValue*(len(c.values)+1<<12) {
		return false
	}
	c.count = slices.Grow(c.count[:0], int(most)+1)[:most+1]
	c.countValues()
	c.words = c.words[:0]
	for v, n := range c.count {
		if n > 0 {
			c.words = append(c.words, uint32(v))
		}
	}
	if 2*len(c.words) > len(c.values) && len(c.words) > 1 {
		return false
	}
	c.keys = c.keys[:0]
	for _, v := range c.words {
		c.keys = append(c.keys, uint64(^c.count[v])<<32|uint64(v)) // the most frequent first, then the least
	}
	slices.Sort(c.keys)
	for i, key := range c.keys {
		c.words[i] = uint32(key)
		c.count[uint32(key)] = uint32(i)
	}
	c.at = slices.Grow(c.at[:0], len(c.values))[:len(c.values)]
	for i, v := range c.values {
		c.at[i] = c.count[v]
	}
	return true
}

// countValues sets count. Values below 256 are counted in four tables in turns, since equal
// values, as those of masks are, would wait for each other.
func (c *chunk) countValues() {
	clear(c.count)
	if len(c.count) > 256 {
		for _, v := range c.values {
			c.count[v]++
		}
		return
	}
	var tables [4][256]uint32
	values := c.values
	for ; len(values) >= 4; values = values[4:] {
		tables[0][uint8(values[0])]++
		tables[1][uint8(values[1])]++
		tables[2][uint8(values[2])]++
		tables[3][uint8(values[3])]++
	}
	for _, v := range values {
		tables[0][uint8(v)]++
	}
	for v := range c.count {
		c.count[v] = tables[0][v] + tables[1][v] + tables[2][v] + tables[3][v]
	}
}

// search is index for values that are few and large, as weights are.
func (c *chunk) search() bool {
	c.words, c.at = c.words[:0], c.at[:0]
	for _, v := range c.values {
		i := slices.Index(c.words, v)
		if i < 0 {
			if i = len(c.words); i == 16 {
				return false
			}
			c.words = append(c.words, v)
		}
		c.at = append(c.at, uint32(i))
	}
	return true
}

// dictionary appends the words.
func (c *chunk) dictionary(dst []byte) []byte { return c.appendPlain(dst, c.words) }

// plain appends the values without a dictionary.
func (c *chunk) plain(dst []byte) []byte { return c.appendPlain(dst, c.values) }

func (c *chunk) appendPlain(dst []byte, values []uint32) []byte {
	for _, v := range values {
		if c.column.Type == columns.Int64 {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(int32(v)))
		} else {
			dst = binary.LittleEndian.AppendUint32(dst, v)
		}
	}
	return dst
}

// levels appends the repetition levels, 0 for the first value of a row and 1 for the others,
// and the definition levels, which are all 1. A column without lists has none.
func (c *chunk) levels(dst []byte) []byte {
	if c.column.Len == 1 {
		return dst
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	from := 0
	for _, end := range c.ends {
		dst = appendRun(dst, 1, 0, 1)
		if n := end - from - 1; n > 0 {
			dst = appendRun(dst, n, 1, 1)
		}
		from = end
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	start = len(dst)
	dst = appendRun(append(dst, 0, 0, 0, 0), len(c.values), 1, 1)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}

// indexes appends the indexes into the dictionary: their width in bits, then runs of equal
// values, and between these packed values in multiples of eight.
func (c *chunk) indexes(dst []byte) []byte {
	width := 1 // bytes
	for len(c.words) > 1<<(8*width) {
		width++
	}
	dst = append(dst, byte(8*width))
	packed := 0 // the values from here to i are not written yet
	for i := 0; i < len(c.at); {
		end := i + 1
		for end < len(c.at) && c.at[end] == c.at[i] {
			end++
		}
		full := i + (packed-i)&7 // the packed values before the run become a multiple of eight
		if end-full >= 8 {
			dst = appendPacked(dst, c.at[packed:full], width)
			dst = appendRun(dst, end-full, c.at[i], width)
			packed = end
		}
		i = end
	}
	return appendPacked(dst, c.at[packed:], width)
}

// appendRun appends n equal values of width bytes.
func appendRun(dst []byte, n int, value uint32, width int) []byte {
	dst = binary.AppendUvarint(dst, uint64(n)<<1)
	for ; width > 0; width-- {
		dst = append(dst, byte(value))
		value >>= 8
	}
	return dst
}

// appendPacked appends values of width bytes. Missing values of the last eight are 0.
func appendPacked(dst []byte, values []uint32, width int) []byte {
	if len(values) == 0 {
		return dst
	}
	groups := (len(values) + 7) / 8
	dst = binary.AppendUvarint(dst, uint64(groups)<<1|1)
	end := len(dst) + 8*groups*width
	switch width {
	case 1:
		for _, v := range values {
			dst = append(dst, byte(v))
		}
	case 2:
		for _, v := range values {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(v))
		}
	default:
		for _, v := range values {
			dst = append(dst, byte(v), byte(v>>8), byte(v>>16))
		}
	}
	return append(dst, make([]byte, end-len(dst))...)
}
