package hf

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/tokenize/internal/hfunicode"
)

// precompiled is the normalizer Precompiled: the character map of a sentencepiece model.
// The map is a double-array trie in the format of Darts-clone. It maps text to an offset in
// replacements, where the replacement ends with a zero byte.
type precompiled struct {
	trie         []uint32
	replacements string
}

// newPrecompiled parses a precompiled_charsmap. Its base64 text contains the length of the
// trie in bytes, the trie as 32-bit units, and the replacements.
func newPrecompiled(text string) (*precompiled, error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("precompiled_charsmap: not base64")
	}
	if len(data) < 4 {
		return nil, errors.New("precompiled_charsmap: truncated")
	}
	n := int(binary.LittleEndian.Uint32(data)) / 4
	if n == 0 || len(data) < 4+4*n {
		return nil, errors.New("precompiled_charsmap: truncated")
	}
	p := &precompiled{trie: make([]uint32, n), replacements: string(data[4+4*n:])}
	for i := range p.trie {
		p.trie[i] = binary.LittleEndian.Uint32(data[4+4*i:])
	}
	if !utf8.ValidString(p.replacements) {
		return nil, errors.New("precompiled_charsmap: the replacements are not UTF-8")
	}
	return p, nil
}

// cluster returns the replacement of a whole grapheme cluster. ok is false if there is
// none, or if the cluster has maxCluster bytes or more.
func (p *precompiled) cluster(s string) (replacement string, ok bool) {
	if len(s) >= maxCluster {
		return "", false
	}
	return p.find(s)
}

// find returns the replacement of the shortest prefix of s in the map. The
// library replaces all of s by it, even if the prefix is shorter.
func (p *precompiled) find(s string) (replacement string, ok bool) {
	offset := func(unit uint32) int { return int(unit >> 10 << (unit & (1 << 9) >> 6)) }
	unit := p.trie[0]
	at := offset(unit)
	for i := range len(s) {
		if s[i] == 0 {
			return "", false
		}
		if at ^= int(s[i]); at >= len(p.trie) {
			return "", false
		}
		unit = p.trie[at]
		if unit&(1<<31|0xff) != uint32(s[i]) {
			return "", false
		}
		if at ^= offset(unit); at >= len(p.trie) {
			return "", false
		}
		if unit>>8&1 != 0 {
			start := int(p.trie[at] & (1<<31 - 1))
			if start > len(p.replacements) {
				return "", false
			}
			replacement, _, _ = strings.Cut(p.replacements[start:], "\x00")
			return replacement, true
		}
	}
	return "", false
}

// maxCluster is a limit in bytes. A shorter grapheme cluster is looked up as a whole first;
// one of this length or more is replaced character by character.
const maxCluster = 6

func (p *precompiled) normalize(b *budget, text string, zero int) (string, int) {
	var out []byte
	newZero, changed := 0, false
	for at := 0; at < len(text) && b.growth >= 0; {
		n := clusterLen(text[at:])
		end := at + n
		if to, ok := p.cluster(text[at:end]); ok {
			b.grow(len(to) - n)
			out, changed = append(out, to...), true
			if at < zero {
				newZero = len(out)
			}
			at = end
		}
		for at < end {
			_, n := utf8.DecodeRuneInString(text[at:])
			to, ok := p.find(text[at : at+n])
			if !ok {
				to = text[at : at+n]
			}
			b.grow(len(to) - n)
			out, changed = append(out, to...), changed || ok
			if at < zero {
				newZero = len(out)
			}
			at += n
		}
	}
	if !changed {
		return text, zero
	}
	// In the library, the first remaining character takes the position of the first
	// character of the text, even if that was removed.
	if zero > 0 && len(out) > 0 {
		_, size := utf8.DecodeRune(out)
		newZero = max(newZero, size)
	}
	return string(out), newZero
}

// Classes of characters in grapheme clusters (Unicode Standard Annex 29).
const (
	clusterOther = iota
	clusterCR
	clusterLF
	clusterControl
	clusterExtend
	clusterZWJ
	clusterPrepend
	clusterSpacingMark
	clusterL
	clusterV
	clusterT
	clusterLV
	clusterLVT
	clusterRegional
	clusterPictographic
)

var clusterClasses = sync.OnceValue(func() map[rune]uint8 {
	classes := map[rune]uint8{}
	for class, name := range map[uint8]string{clusterCR: "CR", clusterLF: "LF", clusterControl: "Control", clusterExtend: "Extend", clusterZWJ: "ZWJ",
		clusterPrepend: "Prepend", clusterSpacingMark: "SpacingMark", clusterL: "L", clusterV: "V", clusterT: "T",
		clusterRegional: "Regional_Indicator", clusterPictographic: "Pictographic"} {
		for _, x := range ranges("gcb:" + name) {
			for c := x.First; c <= x.Last; c++ {
				classes[c] = class
			}
		}
	}
	return classes
})

// clusterPlain returns the set of characters without a grapheme cluster class.
var clusterPlain = sync.OnceValue(func() *hfunicode.Set {
	var all hfunicode.Ranges
	for _, name := range hfunicode.Names("gcb:") {
		all = all.Union(ranges(name))
	}
	return hfunicode.NewSet(all.Not())
})

func clusterClass(c rune) uint8 {
	switch {
	case clusterPlain().Has(c):
		return clusterOther
	case hangulS <= c && c < hangulS+hangulCount:
		if (c-hangulS)%hangulTs == 0 {
			return clusterLV
		}
		return clusterLVT
	}
	return clusterClasses()[c]
}

// clusterLen returns the length in bytes of the first grapheme cluster of text,
// which must not be empty.
func clusterLen(text string) int {
	r, n := utf8.DecodeRuneInString(text)
	last := clusterClass(r)
	pictographic := last == clusterPictographic // the cluster is a pictograph, with marks
	regional := last == clusterRegional         // an odd number of regional indicators at the end
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		class := clusterClass(r)
		switch {
		case last == clusterCR && class == clusterLF:
		case last >= clusterCR && last <= clusterControl, class >= clusterCR && class <= clusterControl:
			return n
		case last == clusterL && (class == clusterL || class == clusterV || class == clusterLV || class == clusterLVT):
		case (last == clusterLV || last == clusterV) && (class == clusterV || class == clusterT):
		case (last == clusterLVT || last == clusterT) && class == clusterT:
		case class == clusterExtend, class == clusterZWJ, class == clusterSpacingMark, last == clusterPrepend:
		case last == clusterZWJ && pictographic && class == clusterPictographic:
		case regional && class == clusterRegional:
			regional = false
			last, n = class, n+size
			continue
		default:
			return n
		}
		pictographic = class == clusterPictographic || pictographic && (class == clusterExtend || class == clusterZWJ)
		regional = class == clusterRegional
		last, n = class, n+size
	}
	return n
}
