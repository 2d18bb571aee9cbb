package bzip2

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// fileOf returns a file of one stream of the blocks.
func fileOf(level int, blocks ...*testBlock) []byte {
	var e encoder
	e.begin(level)
	for _, b := range blocks {
		e.block(b)
	}
	e.end()
	return e.out
}

func TestDamagedBlocksAreRefused(t *testing.T) {
	sound := func() *testBlock { return newBlock([]byte("some words, and some more words")) }
	for _, test := range []struct {
		name  string
		want  fault
		alter func(b *testBlock)
	}{
		{"checksum", errBlockCRC, func(b *testBlock) { b.crc++ }},
		{"randomised", errRandomised, func(b *testBlock) { b.randomised = 1 }},
		{"origin behind the block", errOrigin, func(b *testBlock) { b.origin = 31 }},
		{"empty block", errOrigin, func(b *testBlock) { b.origin, b.symbols = 0, b.symbols[len(b.symbols)-1:] }},
		{"no byte values", errNoBytes, func(b *testBlock) { b.used = [256]bool{} }},
		{"one table", errTables, func(b *testBlock) { b.lens = b.lens[:1] }},
		{"seven tables", errTables, func(b *testBlock) { b.lens = slices.Repeat(b.lens[:1], 7) }},
		{"no selectors", errNoSelectors, func(b *testBlock) { b.selectors = nil }},
		{"selector", errSelector, func(b *testBlock) { b.selectors[0] = 2 }},
		{"long selector", errSelector, func(b *testBlock) { b.selectors[0] = 60 }},
		{"block goes on behind its selectors", errSelectors, func(b *testBlock) {
			b.symbols = slices.Insert(b.symbols, 0, slices.Repeat([]uint16{2}, 50)...)
		}},
		{"length 0", errCodeLength, func(b *testBlock) { b.lens[0][0] = 0 }},
		{"length 21", errCodeLength, func(b *testBlock) { b.lens[1][3] = 21 }},
		{"oversubscribed", errOversubscribed, func(b *testBlock) {
			for i := range b.lens[1] {
				b.lens[1][i] = 2
			}
		}},
		{"code not assigned", errCode, func(b *testBlock) {
			b.lens[0] = slices.Repeat([]uint8{12}, len(b.lens[0]))
			b.selectors = []uint8{0}
			b.symbols = nil // what follows is the end of the stream, 0001 0111 …
		}},
		{"run longer than the block", errTooLong, func(b *testBlock) {
			b.symbols = slices.Insert(b.symbols, 0, slices.Repeat([]uint16{1}, 17)...)
		}},
		{"run longer than any block", errRepeat, func(b *testBlock) {
			b.symbols = slices.Insert(b.symbols, 0, slices.Repeat([]uint16{1}, 50)...)
			b.selectors = []uint8{0, 0}
		}},
		{"block longer than its level", errTooLong, func(b *testBlock) {
			b.symbols = slices.Insert(b.symbols, 0, slices.Repeat([]uint16{2}, 100000)...)
			b.fit(len(b.lens[0]))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := sound()
			test.alter(b)
			file := fileOf(1, sound(), b, sound())
			first := blockBits(t, file)
			got, err := decodeAll(file)
			corrupt := new(CorruptError)
			if !errors.As(err, &corrupt) || !errors.Is(err, ErrCorrupt) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, ErrTrailing) {
				t.Fatalf("got %v", err)
			}
			if corrupt.Reason != string(test.want) || corrupt.Offset != first[1]/8 {
				t.Errorf("got %v, want %q at byte %d", err, test.want, first[1]/8)
			}
			if !strings.HasPrefix("some words, and some more words", string(got)) || len(got) == 0 {
				t.Errorf("got %q before the damage", got)
			}
			if _, err := standard(file); err == nil {
				t.Error("the standard library takes it")
			}
		})
	}
}

// blockBits returns where magic numbers begin in a file.
func blockBits(tb testing.TB, file []byte) []int64 {
	tb.Helper()
	var all []int64
	for bit := int64(0); bit < int64(len(file))*8-magicBits; bit++ {
		if magicAt(file, int(bit)) {
			all = append(all, bit)
		}
	}
	return all
}

func TestReadingGoesOnBehindDamage(t *testing.T) {
	b := newBlock([]byte("damaged"))
	b.crc++
	file := fileOf(9, newBlock([]byte("one ")), b, newBlock([]byte("three ")))
	size := int64(len(file))
	r := NewReader(bytes.NewReader(file), size, Range{0, size})
	blocks, err := owned(r)
	corrupt := new(CorruptError)
	if !errors.As(err, &corrupt) || len(blocks) != 1 {
		t.Fatalf("got %v, %v", blocks, err)
	}
	if _, again := r.Next(); again != err {
		t.Errorf("the error does not stay: %v", again)
	}
	if _, again := r.Peek(); again != err {
		t.Errorf("the error does not stay: %v", again)
	}
	r.Reset(bytes.NewReader(file), size, Range{corrupt.Offset + 1, size})
	blocks, err = owned(r)
	if err != nil || len(blocks) != 1 || blocks[0].text != "three " {
		t.Errorf("behind the damage: got %v, %v", blocks, err)
	}
}

func TestADamagedBlockIsAnErrorForTheRangeThatOwnsIt(t *testing.T) {
	b := newBlock([]byte("damaged"))
	b.crc++
	file := fileOf(9, newBlock([]byte("one ")), b, newBlock([]byte("three ")))
	size := int64(len(file))
	starts := blockBits(t, file)
	r := NewReader(bytes.NewReader(file), size, Range{starts[1]/8 - 2, size})
	_, err := r.Next()
	corrupt := new(CorruptError)
	if !errors.As(err, &corrupt) || corrupt.Offset != starts[1]/8 {
		t.Errorf("got %v, want an error at byte %d", err, starts[1]/8)
	}
}

func TestAStreamChecksumIsComparedWhereTheStreamWasReadWhole(t *testing.T) {
	var e encoder
	e.begin(9)
	e.text("one ")
	e.text("two ")
	e.crc++
	end := e.bit() / 8
	e.end()
	size := int64(len(e.out))
	starts := blockBits(t, e.out)
	for _, test := range []struct {
		start int64
		fails bool
	}{{0, true}, {starts[0] / 8, true}, {starts[0]/8 + 1, false}} {
		_, err := owned(NewReader(bytes.NewReader(e.out), size, Range{test.start, size}))
		corrupt := new(CorruptError)
		if errors.As(err, &corrupt) != test.fails {
			t.Errorf("from byte %d: got %v", test.start, err)
		}
		if test.fails && (corrupt.Offset != end || corrupt.Reason != string(errStreamCRC)) {
			t.Errorf("from byte %d: got %v, want an error at byte %d", test.start, err, end)
		}
	}
}

func TestTruncationIsToldWhereverItIs(t *testing.T) {
	file := fixtures(t)["streams"]
	var whole []int // lengths of whole streams
	for i := range file {
		if bytes.HasPrefix(file[i:], []byte("BZh")) {
			whole = append(whole, i)
		}
	}
	r := NewReader(nil, 0, Range{})
	for n := range file {
		r.Reset(bytes.NewReader(file[:n]), int64(n), Range{0, int64(max(n, 1))})
		_, err := owned(r)
		if n > 0 && slices.Contains(whole, n) {
			if err != nil {
				t.Errorf("cut at byte %d, between streams: got %v", n, err)
			}
			continue
		}
		corrupt := new(CorruptError)
		if !errors.As(err, &corrupt) || !errors.Is(err, io.ErrUnexpectedEOF) || !errors.Is(err, ErrCorrupt) || corrupt.Offset > int64(n) {
			t.Errorf("cut at byte %d: got %v", n, err)
		}
	}
}

func TestDataBehindTheLastStreamIsTold(t *testing.T) {
	file := fixtures(t)["streams"]
	want, _ := standard(file)
	for _, tail := range []string{"\x00", "\x00\x00\x00\x00\x00", "x", "garbage garbage", "BZx", "BZ\x00\x00", strings.Repeat("\x00", 3<<20)} {
		got, err := decodeAll(append(slices.Clone(file), tail...))
		corrupt := new(CorruptError)
		if !errors.As(err, &corrupt) || !errors.Is(err, ErrTrailing) || !errors.Is(err, ErrCorrupt) || corrupt.Offset != int64(len(file)) {
			t.Errorf("tail %.20q: got %v", tail, err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("tail %.20q: got %d bytes before it, want %d", tail, len(got), len(want))
		}
	}
}

func TestADamagedStreamHeaderIsNoTail(t *testing.T) {
	file := fixtures(t)["streams"]
	second := bytes.Index(file[4:], []byte("BZh")) + 4
	for _, header := range []string{"BZh0", "BZh:", "AZh9", "\x00\x00\x00\x00"} {
		bad := slices.Clone(file)
		copy(bad[second:], header)
		_, err := decodeAll(bad)
		corrupt := new(CorruptError)
		if !errors.As(err, &corrupt) || errors.Is(err, ErrTrailing) || corrupt.Offset != int64(second) {
			t.Errorf("header %q: got %v", header, err)
		}
	}
}

func TestWhatIsNoBzip2FileIsRefusedAtOnce(t *testing.T) {
	for _, data := range []string{"a", "plain text", "BZh0", "BZh", "", "\x1f\x8b\x08", "PK"} {
		_, err := NewReader(strings.NewReader(data), int64(len(data)), Range{0, 1}).Next()
		corrupt := new(CorruptError)
		if !errors.As(err, &corrupt) || corrupt.Offset != 0 || errors.Is(err, ErrTrailing) {
			t.Errorf("%q: got %v", data, err)
		}
		if short := strings.HasPrefix("BZh", data); errors.Is(err, io.ErrUnexpectedEOF) != short {
			t.Errorf("%q: got %v, want truncation: %v", data, err, short)
		}
	}
}

// bytesBlock returns a block whose symbols are coded in 8 bits each (but for
// the last four of the alphabet), so that its compressed data are the payload,
// which must have no byte above 0xfd; and the text it decodes to.
func bytesBlock(tb testing.TB, payload []byte) (*testBlock, string) {
	tb.Helper()
	b := &testBlock{}
	for c := range b.used {
		b.used[c] = true
	}
	for _, c := range payload {
		b.symbols = append(b.symbols, uint16(c))
	}
	b.symbols = append(b.symbols, 257)
	lens := append(slices.Repeat([]uint8{8}, 254), 9, 9, 9, 9)
	b.lens = [][]uint8{lens, lens}
	b.selectors = make([]uint8, len(b.symbols)/groupSize+1)
	// What it decodes to is what this package makes of it: that the parts
	// are right, others test.
	d := newDecoder()
	file := fileOf(9, b)
	d.bits.reset(bytes.NewReader(file), int64(len(file)))
	d.bits.seek(32 + magicBits)
	if err := d.decode(maxBlock); err != errBlockCRC {
		tb.Fatal(err)
	}
	b.crc = plainCRC(d.out)
	return b, string(d.out)
}

func TestMagicNumbersInsideABlockAreSkipped(t *testing.T) {
	var magic [8]byte
	binary.BigEndian.PutUint64(magic[:], blockMagic<<16)
	for _, repeats := range []int{1, 2, 50} {
		payload := slices.Repeat(append([]byte("some symbols before and between "), magic[:6]...), repeats)
		inner, text := bytesBlock(t, payload)
		for _, after := range []bool{false, true} {
			var e encoder
			e.begin(9)
			e.text("before ")
			want := []testBlockAt{{32, "before "}, {e.bit(), text}}
			e.block(inner)
			if after {
				want = append(want, testBlockAt{e.bit(), "after"})
				e.text("after")
			}
			e.end()
			if got := len(blockBits(t, e.out)); got != len(want)+repeats {
				t.Fatalf("the test's file has %d magic numbers", got)
			}
			r := NewReader(nil, 0, Range{})
			for cut := int64(0); cut < int64(len(e.out)); cut += 1 + int64(len(e.out))/150 {
				checkCuts(t, r, e.out, want, cut)
			}
		}
	}
}

func TestAFalseMagicNumberInsideDamageIsAnError(t *testing.T) {
	var magic [8]byte
	binary.BigEndian.PutUint64(magic[:], blockMagic<<16)
	inner, _ := bytesBlock(t, append([]byte("some symbols before "), magic[:6]...))
	inner.crc++
	file := fileOf(9, newBlock([]byte("before ")), inner)
	size := int64(len(file))
	starts := blockBits(t, file)
	_, err := NewReader(bytes.NewReader(file), size, Range{starts[1]/8 + 1, size}).Next()
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestManyFalseMagicNumbersTakeBoundedTime(t *testing.T) {
	b := columnBlock(bytes.Repeat([]byte("a"), maxBlock), 0) // its checksum is wrong
	var e encoder
	for range 400 {
		e.block(b)
	}
	size := int64(len(e.out))
	r := NewReader(bytes.NewReader(e.out), size, Range{size - 100, size})
	if _, err := r.Next(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if r.d.work < doubtBudget/2 || r.d.work > 2*doubtBudget {
		t.Errorf("decoded %d bytes, want about %d", r.d.work, doubtBudget)
	}
}

func TestABlockMayBeAsLongAsItsLevelSays(t *testing.T) {
	d := newDecoder()
	for _, unit := range []string{"a", "ab", "aab"} {
		for n, want := range map[int]fault{levelSize: errBlockCRC, levelSize + 1: errTooLong} {
			column := bytes.Repeat([]byte(unit), n/len(unit)+1)[:n]
			file := fileOf(1, columnBlock(column, 0)) // its checksum is wrong
			d.bits.reset(bytes.NewReader(file), int64(len(file)))
			d.bits.seek(32 + magicBits)
			if got := d.decode(levelSize); got != want {
				t.Errorf("%d bytes of %q: got %v, want %v", n, unit, got, want)
			}
		}
	}
}

func TestAStreamHeaderIsKnownByWhatPrecedes(t *testing.T) {
	var e encoder
	e.begin(2)
	first := e.bit()
	e.text("one")
	e.end()
	e.begin(3)
	second := e.bit()
	e.text("two")
	e.bits(0, e.free)
	e.begin(4) // looks like a header, but no stream ended
	third := e.bit()
	e.text("three")
	r := NewReader(bytes.NewReader(e.out), int64(len(e.out)), Range{})
	for _, test := range []struct {
		bit   int64
		level int
		ok    bool
	}{{first, 2, true}, {second, 3, true}, {third, maxLevel, false}} {
		if level, ok := r.levelBefore(test.bit); level != test.level || ok != test.ok {
			t.Errorf("bit %d: got %d, %v, want %d, %v", test.bit, level, ok, test.level, test.ok)
		}
	}
}

func TestDamageOfRealDumpsIsTold(t *testing.T) {
	for _, test := range []struct {
		name   string
		offset int64
		also   error
		bytes  int
	}{
		{"bad-magic.xml.bz2", 38253, nil, 122308},
		{"bit-flip.xml.bz2", 38257, nil, 122308},
		{"cut-in-stream.xml.bz2", 38257, io.ErrUnexpectedEOF, 122308},
		{"empty.xml.bz2", 0, io.ErrUnexpectedEOF, 0},
		{"garbage-tail.xml.bz2", 82867, ErrTrailing, 269002},
		{"zero-tail.xml.bz2", 82867, ErrTrailing, 269002},
		{"not-bz2.xml.bz2", 0, nil, 0},
		{"gzip-as.bz2", 0, nil, 0},
	} {
		got, err := decodeAll(realdata.Read(t, "hostile/dump/"+test.name))
		corrupt := new(CorruptError)
		if !errors.As(err, &corrupt) || corrupt.Offset != test.offset || corrupt.Err != test.also || len(got) != test.bytes {
			t.Errorf("%s: got %v (%v) after %d bytes, want byte %d (%v) after %d",
				test.name, err, corrupt.Err, len(got), test.offset, test.also, test.bytes)
		}
	}
}
