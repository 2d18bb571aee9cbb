package wiki

import (
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPackedDumpsThatCannotBeCutBelongToTheFirstRange(t *testing.T) {
	plain := string(birds(t, "birds.xml"))
	want := readBytes(t, []byte(plain), whole(int64(len(plain))))
	for name, dump := range map[string]string{
		"gzip": gzipped(plain[:900]) + gzipped(plain[900:]), "UTF-16LE": inUTF16(plain, false), "UTF-16BE in gzip": gzipped(inUTF16(plain, true)),
	} {
		size := int64(len(dump))
		for _, ranges := range [][]Range{whole(size), even(size, 7)} {
			got := readBytes(t, []byte(dump), ranges)
			if name != "gzip" { // the mark is three bytes of UTF-8
				got.stats.XMLBytes -= 3
			}
			got.stats.Bytes = want.stats.Bytes
			if diff := diff(want, got); diff != "" {
				t.Errorf("%s in %d ranges, -want +got:\n%s", name, len(ranges), diff)
			}
		}
	}
}

func TestUTF16BecomesUTF8HoweverItArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.String().Draw(t, "text")
		bigEndian := rapid.Bool().Draw(t, "big endian")
		raw := inUTF16(want, bigEndian)[2:]
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		plain := plainOf([]byte(raw), Range{0, int64(len(raw))})
		src := &utf16Source{src: &stutter{plain, rnd}, bigEndian: bigEndian}
		var got []byte
		for p := make([]byte, 9); ; {
			n, _, err := src.read(p[:utf8.UTFMax+rnd.IntN(6)])
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, p[:n]...)
		}
		if string(got) != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

func TestLoneSurrogatesAreDroppedAndCounted(t *testing.T) {
	dump := inUTF16(siteinfo+article(1, "A", "x 😀 SURROGATE y"), false)
	for _, lone := range []string{"\x00\xd8", "\x00\xdc", "\x00\xdc\x00\xd8"} {
		b := strings.Replace(dump, inUTF16("SURROGATE", false)[2:], lone, 1)
		res := readBytes(t, []byte(b), whole(int64(len(b))))
		if len(res.docs) != 1 || !strings.HasPrefix(res.docs[0].Text, "x 😀") || res.err != nil {
			t.Fatalf("%x: got %v, %v", lone, res.docs, res.err)
		}
		if want := int64(len(lone) / 2 * 3); res.stats.InvalidUTF8 != want {
			t.Errorf("%x: %d bytes dropped, want %d", lone, res.stats.InvalidUTF8, want)
		}
	}
}

func TestDamageOfAGzippedDumpIsNamedAfterWhatPrecedesIt(t *testing.T) {
	dump := gzipped(siteinfo + strings.Repeat(article(1, "A", "Sound. "+strings.Repeat("x ", 5000)), 100))
	for name, b := range map[string]string{
		"cut": dump[:len(dump)-12], "checksum": dump[:len(dump)-8] + "\x00\x00\x00\x00" + dump[len(dump)-4:], "garbage": dump + "garbage",
	} {
		res := readBytes(t, []byte(b), whole(int64(len(b))))
		if damage, ok := errors.AsType[*CorruptError](res.err); !ok || !errors.Is(res.err, ErrCorrupt) || damage.Offset == 0 {
			t.Errorf("%s: got %v", name, res.err)
		}
		if len(res.docs) < 99 {
			t.Errorf("%s: %d documents before the damage, want 99", name, len(res.docs))
		}
	}
}
