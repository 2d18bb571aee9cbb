package bzip2

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
)

func TestTheChecksumEqualsThePlainOne(t *testing.T) {
	realdata.Vectors(t, "PCLMULQDQ", "PMULL")
	folding := newCRCTables()
	tables := *folding
	tables.fold = false
	for _, crcs := range []*crcTables{folding, &tables} {
		rapid.Check(t, func(t *rapid.T) {
			p := rapid.SliceOf(rapid.Byte()).Draw(t, "p")
			p = bytes.Repeat(p, rapid.IntRange(1, 40).Draw(t, "repeats"))
			p = p[:rapid.IntRange(0, len(p)).Draw(t, "length")]
			cut := rapid.IntRange(0, len(p)).Draw(t, "cut")
			if got, want := crcs.update(crcs.update(0, p[:cut]), p[cut:]), plainCRC(p); got != want {
				t.Fatalf("got %08x, want %08x", got, want)
			}
		})
		if got := crcs.update(0, []byte("123456789")); got != 0xfc891918 {
			t.Errorf("got %08x for the check value of CRC-32/BZIP2", got)
		}
	}
}

// FuzzCRC checks both ways to compute the checksum against the plain one.
func FuzzCRC(f *testing.F) {
	f.Add([]byte("123456789"), uint32(0))
	f.Add(bytes.Repeat([]byte{0, 255, 1}, 100), uint32(65))
	folding := newCRCTables()
	tables := *folding
	tables.fold = false
	f.Fuzz(func(t *testing.T, p []byte, cut uint32) {
		k := int(cut % uint32(len(p)+1))
		want := plainCRC(p)
		for _, crcs := range []*crcTables{folding, &tables} {
			if got := crcs.update(crcs.update(0, p[:k]), p[k:]); got != want {
				t.Fatalf("got %08x, want %08x", got, want)
			}
		}
	})
}

func TestAMagicNumberIsFoundAtAnyBit(t *testing.T) {
	const size = searchStep + 40
	noise := rand.New(rand.NewPCG(3, 4))
	for _, at := range []int{0, 1, 7, 8, 15, 60, searchStep*8 - 49, searchStep*8 - 1, searchStep * 8, searchStep*8 + 3, size*8 - magicBits} {
		for range 8 {
			e := &encoder{}
			for i := range at {
				_ = i
				e.bits(noise.Uint64(), 1)
			}
			e.bits(blockMagic, magicBits)
			for e.bit() < size*8 {
				e.bits(noise.Uint64(), 1)
			}
			if got := findMagic(e.out); got != at {
				t.Fatalf("got %d, want %d", got, at)
			}
			e.out[at/8+3] ^= 4
			if got := findMagic(e.out); got != -1 {
				t.Fatalf("found a damaged magic number at %d", got)
			}
		}
	}
}

func TestNoTwoMagicNumbersBeginInTheSameOrNextByte(t *testing.T) {
	for k := 1; k < 16; k++ {
		if uint64(blockMagic)>>k == blockMagic&(1<<(magicBits-k)-1) {
			t.Errorf("a magic number may begin %d bits behind another", k)
		}
	}
}

func TestTheFirstOfSeveralMagicNumbersIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e encoder
		for range rapid.IntRange(0, 5).Draw(t, "count") {
			e.bits(0, rapid.IntRange(0, 64).Draw(t, "gap"))
			e.bits(blockMagic, magicBits)
		}
		want := -1
		for bit := 0; bit+magicBits <= len(e.out)*8 && want < 0; bit++ {
			if magicAt(e.out, bit) {
				want = bit
			}
		}
		if got := findMagic(e.out); got != want {
			t.Fatalf("got %d, want %d", got, want)
		}
	})
}

func TestRunsExpandWhateverTheRoom(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(genText().Draw(t, "text"))
		room := rapid.IntRange(runRoom, 2*runRoom).Draw(t, "room")
		for _, vector := range []bool{false, hasChunks} {
			r := runs{src: shorten(text), vector: vector}
			var got []byte
			for len(r.src) > 0 {
				part := r.expand(make([]byte, 0, room))
				if len(part) == 0 {
					t.Fatal("no progress")
				}
				got = append(got, part...)
			}
			if !bytes.Equal(got, text) {
				t.Fatalf("got %q, want %q", got, text)
			}
		}
	})
}

func TestRunsOfAnyCountExpand(t *testing.T) {
	realdata.Vectors(t, "AVX2", "NEON")
	for _, test := range []struct{ src, want string }{
		{"", ""},
		{"aaaa", "aaaa"},
		{"aaaa\x00", "aaaa"},
		{"aaaa\x00a", "aaaaa"},
		{"aaaa\x00aaaa\x01b", "aaaaaaaaab"},
		{"aaaaaaaab", "aaaa" + string(bytes.Repeat([]byte("a"), 'a')) + "aaab"},
		{"xaaa\xffy", "xaaa\xffy"},
		{"aaaa\xff", string(bytes.Repeat([]byte("a"), 259))},
	} {
		for _, vector := range []bool{false, hasChunks} {
			r := runs{src: []byte(test.src), vector: vector}
			if got := r.expand(make([]byte, 0, 1000)); string(got) != test.want {
				t.Errorf("%q: got %q, want %q", test.src, got, test.want)
			}
		}
	}
}

// FuzzRuns checks that both ways to expand runs give the same.
func FuzzRuns(f *testing.F) {
	f.Add([]byte("aaaa\x05 some text that is longer than a chunk of bytes, with aaaa\x00aaaa"), uint16(0))
	f.Add(bytes.Repeat([]byte("no run aaa, "), 30), uint16(300))
	f.Fuzz(func(t *testing.T, src []byte, room uint16) {
		expand := func(vector bool) (got []byte) {
			r := runs{src: src, vector: vector}
			for len(r.src) > 0 {
				got = append(got, r.expand(make([]byte, 0, runRoom+int(room)))...)
			}
			return got
		}
		if got, want := expand(hasChunks), expand(false); !bytes.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// vectorLevels are the levels with vector instructions that this processor has.
func vectorLevels() []level {
	return []level{level16, level64}[:bestLevel]
}

// readAll checks that the symbols of a block are decoded alike at all levels: the
// column, or the error, and the position, and the table of the column. The magic number
// of the block begins at byte at of the file.
func readAll(tb rapid.TB, file []byte, at int64, limit int) {
	tb.Helper()
	for _, l := range vectorLevels() {
		readBoth(tb, l, file, at, limit)
	}
}

func readBoth(tb rapid.TB, l level, file []byte, at int64, limit int) {
	tb.Helper()
	type outcome struct {
		bits   bitReader
		header header
		column column
		err    error
	}
	var got, want outcome
	for _, x := range []*outcome{&got, &want} {
		if x == &got {
			x.column.level = l
		}
		x.bits.reset(bytes.NewReader(file), int64(len(file)))
		x.bits.take(8) // loads the window at the front of the file
		x.bits.seek(at*8 + magicBits)
		if x.header.read(&x.bits) != nil {
			return
		}
		x.err = x.column.read(&x.bits, &x.header, limit)
	}
	switch {
	case got.err != want.err:
		tb.Fatalf("level %d: got error %v, want %v", l, got.err, want.err)
	case got.bits.bit() != want.bits.bit() || got.header.bytes != want.header.bytes:
		tb.Fatalf("level %d: ended at bit %d with the list %v, want bit %d and %v", l, got.bits.bit(), got.header.bytes, want.bits.bit(), want.header.bytes)
	case !bytes.Equal(got.column.data(), want.column.data()) || got.column.n != want.column.n || got.column.count != want.column.count:
		tb.Fatalf("level %d: got a column of %d bytes, want another of %d", l, got.column.n, want.column.n)
	}
	if got.err == nil {
		linkBoth(tb, l, &got.column)
	}
}

func TestSymbolsAreDecodedAlikeWithVectorInstructions(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	realdata.Vectors(t, "AVX-512 VBMI")
	for _, file := range fixtures(t) {
		readAll(t, file, 4, maxBlock)
	}
	rapid.Check(t, func(t *rapid.T) {
		b := &testBlock{}
		values := rapid.IntRange(1, 256).Draw(t, "values")
		for c := range values {
			b.used[c] = true
		}
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		// Symbols near the front, everywhere, or long runs, in turns.
		spread := []int{2, 4, 20, 70, 258}
		for range rapid.IntRange(0, 40).Draw(t, "parts") {
			most := min(spread[rnd.IntN(len(spread))], values+1)
			for range rnd.IntN(60) {
				b.symbols = append(b.symbols, uint16(rnd.IntN(most)))
			}
			for range rnd.IntN(12) * rnd.IntN(2) {
				b.symbols = append(b.symbols, uint16(rnd.IntN(2)))
			}
			b.symbols = append(b.symbols, uint16(rnd.IntN(most)))
		}
		b.symbols = append(b.symbols, uint16(values+1))
		b.fit(values + 2)
		if rnd.IntN(4) == 0 {
			b.selectors = b.selectors[:rnd.IntN(len(b.selectors))]
		}
		file := fileOf(9, b)
		if rnd.IntN(2) == 0 {
			file[rnd.IntN(len(file))] ^= byte(rnd.Uint32())
		}
		noise := make([]byte, 500)
		for i := range noise {
			noise[i] = byte(rnd.Uint32())
		}
		file = append(file, noise...)
		before := 0
		if rnd.IntN(2) == 0 {
			before = windowSize - rnd.IntN(len(file)) // the window ends in the block
		}
		readAll(t, append(make([]byte, before), file...), int64(before)+4, rapid.SampledFrom([]int{100, 5000, maxBlock}).Draw(t, "limit"))
	})
}

// set makes data the column.
func (col *column) set(data []byte) {
	col.n, col.parts, col.count = len(data), 0, [256]uint32{}
	for len(data) > 0 {
		c, n := data[0], 1
		for n < len(data) && data[n] == c {
			n++
		}
		col.count[c] += uint32(n)
		last, err := col.split(c, n, 0)
		if err != nil {
			panic(err)
		}
		col.add(c, last)
		data = data[n:]
	}
}

// data returns the column.
func (col *column) data() (data []byte) {
	for k := range col.parts {
		part := col.buf[k*partSize:]
		data = append(data, bytes.Repeat(part[:1], int(part[1]))...)
	}
	return data
}

// tables are those of linkBoth.
var tables [2]table

// linkBoth checks that a column has the same table at the level l and without vector
// instructions, and that nothing is written beyond.
func linkBoth(tb rapid.TB, l level, col *column) {
	tb.Helper()
	const beyond = 16
	for _, x := range []*table{&tables[0], &tables[1]} {
		for i := range x[:col.n+beyond] {
			x[i] = 0x5a5a5a5a
		}
		col.level = levelPlain
		if x == &tables[0] {
			col.level = l
		}
		x.link(col)
	}
	if !slices.Equal(tables[0][:col.n+beyond], tables[1][:col.n+beyond]) {
		tb.Fatalf("level %d: the tables of %d bytes differ", l, col.n)
	}
}

func TestTheTableIsTheSameWithVectorInstructions(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	var col column
	rnd := rand.New(rand.NewPCG(7, 8))
	for range torture.Cases(1000, 50_000) {
		var data []byte
		values := 1 + rnd.IntN(256)
		for range rnd.IntN(200) {
			most := []int{1, 3, 9, 40, 600}[rnd.IntN(5)]
			data = append(data, bytes.Repeat([]byte{byte(rnd.IntN(values))}, rnd.IntN(most+1))...)
		}
		col.set(data)
		for _, l := range vectorLevels() {
			linkBoth(t, l, &col)
		}
	}
}

// walkBoth checks that both walks of a column give the same text.
func walkBoth(tb testing.TB, data []byte, origin uint32) {
	tb.Helper()
	var (
		col column
		tab table
		w   walker
	)
	col.set(data)
	tab.link(&col)
	want, got := make([]byte, len(data)), make([]byte, len(data))
	tab.walk(want, origin)
	w.scratch = make([]byte, len(data))
	w.walk(&tab, got, origin)
	if !bytes.Equal(got, want) {
		tb.Fatalf("%d bytes from row %d: the walks differ", len(data), origin)
	}
}

func TestBothWalksGiveTheSameText(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, maxBlock)
	for i := range noise {
		noise[i] = byte(rnd.Uint32())
	}
	skew := slices.Clone(noise)
	for i := range skew {
		skew[i] &= skew[(i*7+1)%len(skew)] & 0x11
	}
	for _, n := range []int{1, minWalk - 1, minWalk, minWalk + 1, 100000, maxBlock} {
		for _, origin := range []int{0, n / 3, n - 1} {
			walkBoth(t, noise[:n], uint32(origin))
			walkBoth(t, skew[:n], uint32(origin))
		}
	}
}

func TestBothWalksGiveTheSameTextOfManyCycles(t *testing.T) {
	for period := 1; period < 40; period++ {
		var data []byte
		for c := range period {
			data = append(data, bytes.Repeat([]byte{byte(c * 7)}, 50000/period)...)
		}
		walkBoth(t, data, uint32(len(data)/2))
	}
}

// The rows that begin segments lead to themselves, so that one chain walks all
// others.
func TestBothWalksGiveTheSameTextOfOneLongSegment(t *testing.T) {
	const n = 200000
	var w walker
	tab := new(table)
	for i := range uint64(n / cutSize) {
		row := uint32(i * 2654435761 % n)
		tab[row] = row<<8 | row&0xff
	}
	last, origin := uint32(0), uint32(0)
	for row := range uint32(n) {
		switch {
		case tab[row] != 0 || row == 0:
		case origin == 0:
			origin, last = row, row
		default:
			tab[last] = row<<8 | last*7&0xff
			last = row
		}
	}
	tab[last] = origin<<8 | last*7&0xff
	want, got := make([]byte, n), make([]byte, n)
	tab.walk(want, origin)
	w.scratch = make([]byte, n)
	w.walk(tab, got, origin)
	if !bytes.Equal(got, want) {
		t.Fatal("the walks differ")
	}
}

func TestHuffmanCodesDecodeAsTheirCanonicalOrderSays(t *testing.T) {
	h := new(huffman)
	for _, lens := range [][]uint8{flat(3), flat(258), skewed(3), skewed(258), skewed(40), deep()} {
		if err := h.init(lens); err != nil {
			t.Fatal(err)
		}
		for s, l := range lens {
			checkCode(t, h, code(lens, s)<<(64-l), s, len(lens), uint(l))
			checkCode(t, h, code(lens, s)<<(64-l)|(1<<(64-l)-1), s, len(lens), uint(l))
		}
	}
}

func TestAnEntryOfSeveralSymbolsMeansTheSymbolsInTurn(t *testing.T) {
	h := new(huffman)
	for _, lens := range [][]uint8{flat(3), flat(258), skewed(3), skewed(40), deep(), {2, 2, 13, 13}} {
		if err := h.init(lens); err != nil {
			t.Fatal(err)
		}
		for i, e := range h.several {
			var length, digits, run int
			var place uint
			if e == noEntry {
				length, place = int(e.length()), e.place()
			}
			for n := e.symbols(); n > 0; n-- {
				one := h.one[i<<length&(lutSize-1)]
				if place != 0 || one == noEntry {
					t.Fatalf("%v: entry %d: %v goes on behind its end", lens, i, e)
				}
				run += one.run() << digits
				length += int(one.length())
				digits += int(one.digits())
				place = one.place()
			}
			if length != int(e.length()) || digits != int(e.digits()) || run != e.run() || place != e.place() || length > lutBits {
				t.Fatalf("%v: entry %d: got %v, want length %d, digits %d, run %d, place %d", lens, i, e, length, digits, run, place)
			}
			if (e == noEntry) != (h.one[i] == noEntry) {
				t.Fatalf("%v: entry %d: got %v for %v", lens, i, e, h.one[i])
			}
		}
	}
}

// deep returns the lengths of the code with the longest codes.
func deep() []uint8 {
	lens := make([]uint8, maxCodeLen+1)
	for i := range lens {
		lens[i] = uint8(min(i+1, maxCodeLen))
	}
	return lens
}

// checkCode checks what the bits mean at first: a symbol, or nothing (-1).
func checkCode(tb testing.TB, h *huffman, bits uint64, symbol, symbols int, length uint) {
	tb.Helper()
	want := newEntry(symbol, symbols, length)
	if symbol < 0 {
		want = noEntry
	}
	got := h.one[bits>>(64-lutBits)]
	if got == noEntry {
		got = h.long(bits)
	}
	if got != want {
		tb.Fatalf("bits %064b: got %+v, want %+v", bits, got, want)
	}
}

func TestIncompleteHuffmanCodesAreReadAsFarAsTheyGo(t *testing.T) {
	h := new(huffman)
	lens := []uint8{2, 2, 13, 13}
	if err := h.init(lens); err != nil {
		t.Fatal(err)
	}
	for s, l := range lens {
		checkCode(t, h, code(lens, s)<<(64-l), s, len(lens), uint(l))
	}
	checkCode(t, h, ^uint64(0), -1, 0, 0)
	if err := h.init([]uint8{1, 1, 3}); err != nil {
		t.Errorf("a code that compress/bzip2 takes: %v", err)
	}
	if err := h.init([]uint8{1, 1, 1}); err != errOversubscribed {
		t.Errorf("a code that compress/bzip2 refuses: %v", err)
	}
}
