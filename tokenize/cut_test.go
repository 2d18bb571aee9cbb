package tokenize

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// A cutResult is what take and fill find in a text.
type cutResult struct {
	text         []byte
	others       []uint64
	starts, ends []uint16
	controls     bool
	words        []wordKey
	sets         []uint16
}

// prefetched is what fillVector fetches, and nothing reads.
var prefetched = new(wordCache)

// cutWith cuts the beginning of text, with vector instructions or without.
func cutWith(text []byte, lower uint64, vector bool) cutResult {
	c := new(cuts)
	blocks := min(len(text), stretchBytes) / blockBytes
	if copy(c.text[:stretchBytes], text) == len(text) {
		copy(c.text[len(text):], blockOfSpaces)
		blocks++
	}
	c.others[blocks] = 1
	if !vector {
		c.cut(blocks, lower)
	} else if !cutVector(c, blocks, lower) {
		return cutWith(text, lower, false)
	}
	r := cutResult{text: c.text[:blocks*blockBytes], others: c.others[:blocks+1], starts: c.starts[:c.nStarts], ends: c.ends[:c.nEnds], controls: c.controls}
	for k, n := 0, 0; k < c.nEnds; k += max(n, 1) {
		other := c.nextOther(int(c.starts[k]))
		if n = fillVector(c, k, c.nEnds, other, prefetched); !vector || n < 0 {
			n = c.fillPlain(k, c.nEnds, other)
		}
		r.words, r.sets = append(r.words, c.queue[:n]...), append(r.sets, c.sets[:n]...)
	}
	return r
}

func checkCut(t *testing.T, text []byte) {
	t.Helper()
	for _, lower := range []uint64{0, bytes20} {
		plain, vector := cutWith(text, lower, false), cutWith(text, lower, true)
		if !bytes.Equal(plain.text, vector.text) || !slices.Equal(plain.others, vector.others) || plain.controls != vector.controls {
			t.Errorf("%q: classes differ\nplain  %q %x %v\nvector %q %x %v", text, plain.text, plain.others, plain.controls, vector.text, vector.others, vector.controls)
		}
		if !slices.Equal(plain.starts, vector.starts) || !slices.Equal(plain.ends, vector.ends) {
			t.Errorf("%q: parts differ\nplain  %d %d\nvector %d %d", text, plain.starts, plain.ends, vector.starts, vector.ends)
		}
		if !slices.Equal(plain.words, vector.words) || !slices.Equal(plain.sets, vector.sets) {
			t.Errorf("%q: words differ\nplain  %x %x\nvector %x %x", text, plain.words, plain.sets, vector.words, vector.sets)
		}
	}
}

// TestCutClassesEqualTheTables compares the parts of a text of three bytes with
// what the tables of each profile say about its second one.
func TestCutClassesEqualTheTables(t *testing.T) {
	for _, profile := range []Profile{ProfileGoogle, ProfileNVIDIA, ProfileHF} {
		o := DefaultOptions()
		o.Profile = profile
		rules := newRules(o)
		for b := range 0x80 {
			r := cutWith([]byte{'a', byte(b), 'a'}, 0, false)
			var want []uint16
			switch rules.classes.of(rune(b)) & kindMask {
			case kindSpace:
				want = []uint16{0, 2}
			case kindPunct:
				want = []uint16{0, 1, 2}
			default:
				want = []uint16{0}
			}
			control := rules.classes.of(rune(b))&kindMask == kindRemove
			if !slices.Equal(r.starts, want) || r.controls != control || r.others[0] != 0 != control {
				t.Errorf("profile %v, byte %#x: parts begin at %d, controls %v, others %b; want %d, %v", profile, b, r.starts, r.controls, r.others[0], want, control)
			}
		}
	}
}

func TestCutWithVectorsEqualsPlain(t *testing.T) {
	realdata.Instructions(t, "AVX2", "NEON")
	rng := rand.New(rand.NewPCG(1, 2))
	alphabets := []string{"", "ab ", "aZ09_ .,\n\r\t", "a. \x00\x1f\x7f\x80\xffé世"}
	for n := range 2000 {
		text := make([]byte, rng.IntN(1400))
		for i := range text {
			if alphabet := alphabets[n%len(alphabets)]; alphabet == "" {
				text[i] = byte(rng.Uint32())
			} else {
				text[i] = alphabet[rng.IntN(len(alphabet))]
			}
		}
		checkCut(t, text)
	}
}

// TestPiecesAreFetchedWhereTheyAreLookedUp compares the slots that are fetched
// with the keys of the pieces.
func TestPiecesAreFetchedWhereTheyAreLookedUp(t *testing.T) {
	c := new(cuts)
	text := "Ο Πλάτων, abc café été 世界 “x” ქართული धर्म жизнь. " + strings.Repeat("ω", 15) + "x " + strings.Repeat("ω", 16)
	if !cutVector(c, 1, 0) {
		return // nothing is fetched
	}
	var want []uint16
	parts, _ := take(c, text, bytes20)
	for k := range parts {
		from, n := int(c.starts[k]), int(c.ends[k])-int(c.starts[k])
		if lead := c.text[from]; lead >= 0xc2 && (lead < firstWideLead || lead > lastWideLead) && n <= maxPiece {
			key := c.pieceAt(from, n)
			want = append(want, key.slot())
		}
	}
	if n := fetchVector(c, 0, parts, new(pieceCache)); len(want) != 7 || !slices.Equal(c.slots[:n], want) {
		t.Errorf("got %d, want the slots of seven pieces, %d", c.slots[:n], want)
	}
}

func FuzzCut(f *testing.F) {
	f.Add([]byte("The unaffable WORD, running\x00 ünder ~ 0123456789abcdef."), uint16(1))
	f.Fuzz(func(t *testing.T, text []byte, repeat uint16) { checkCut(t, bytes.Repeat(text, int(repeat%64))) })
}
