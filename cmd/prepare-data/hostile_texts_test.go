//go:build unix

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf16"

	"pretext/internal/democorpus"
)

func sortKinds(kinds []hostileKind) {
	slices.SortFunc(kinds, func(a, b hostileKind) int { return cmp.Compare(a.name, b.name) })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// dumpHead is the valid beginning of a dump.
const dumpHead = `<mediawiki xml:lang="en"><siteinfo><dbname>hostilewiki</dbname><namespaces><namespace key="0"/></namespaces></siteinfo>` + "\n"

func dumpPage(id int, text string) string {
	return fmt.Sprintf("<page><title>Page %d</title><ns>0</ns><id>%d</id><revision><id>1</id><text>%s</text></revision></page>\n", id, id, text)
}

// escapedXML returns text as XML in a dump contains it.
var escapedXML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// dumpOf returns a dump with one hostile page between two valid ones.
func dumpOf(wikitext string) []byte {
	sound := "A sound page has a few words, and they are enough of them to be kept. It also ends somewhere."
	return []byte(dumpHead + dumpPage(1, sound) + dumpPage(2, escapedXML.Replace(wikitext)) + dumpPage(3, sound) + "</mediawiki>\n")
}

// wikitextPieces are opening marks of all constructs of wikitext, without the closing
// ones.
var wikitextPieces = []string{
	"{{", "}}", "{{{", "}}}", "{{{{", "[[", "]]", "[", "]", "{|", "|}", "|-", "|", "||", "!", "!!", "''", "'''", "'''''", "<ref>", "</ref>", "<ref name=a/>", "<!--", "-->",
	"<nowiki>", "</nowiki>", "<math>", "</math>", "<pre>", "</pre>", "<div", "</div>", "<table>", "<gallery>", "</gallery>", "<br", "=", "==", "======", "\n", "\n\n", "\n*", "\n#", "\n;", "\n:", "\n==",
	"\n{|", "\n|-\n", "\n|}", "[[File:", "[[Category:", "[[:", "http://", "[http://a b", "&nbsp;", "&#", "&#x110000;", "&amp;amp;", "__TOC__", "~~~~", "-{", "}-", "{{lang|", "{{#if:", "{{convert|", "|a=",
	"word ", "Words and words. ", "\t", "\u200b", "\u202e", "\x00", "\xff", "\xc0\x80", "\xed\xa0\x80", "<syntaxhighlight>", "<onlyinclude>", "<score>", "<poem>", "RFC 1", "ISBN ",
}

func dumpKinds() []hostileKind {
	kinds := map[string]func(r *rand.Rand, tr *trap) []byte{
		"flood.xml": func(r *rand.Rand, _ *trap) []byte { // one piece of syntax again and again
			return dumpOf(strings.Repeat(wikitextPieces[r.IntN(len(wikitextPieces))], 10_000<<uint(r.IntN(5))))
		},
		"pair.xml": func(r *rand.Rand, _ *trap) []byte { // two of them in turn, or one after the other
			a, b, n := wikitextPieces[r.IntN(len(wikitextPieces))], wikitextPieces[r.IntN(len(wikitextPieces))], 10_000<<uint(r.IntN(4))
			if r.IntN(2) == 0 {
				return dumpOf(strings.Repeat(a+b, n))
			}
			return dumpOf(strings.Repeat(a, n) + "middle" + strings.Repeat(b, n))
		},
		"soup.xml": func(r *rand.Rand, _ *trap) []byte {
			var b strings.Builder
			for range 200_000 {
				b.WriteString(wikitextPieces[r.IntN(len(wikitextPieces))])
			}
			return dumpOf(b.String())
		},
		"tags.xml": func(r *rand.Rand, tr *trap) []byte { // XML that no parser may trust
			pieces := []string{"<page>", "</page>", "<text>", "</text>", "<revision>", "</revision>", "<title>", "</title>", "<ns>", "<id>", "</id>", "</mediawiki>", "<mediawiki>", "<!--", "-->", "<![CDATA[", "]]>",
				"<?xml?>", "&e;", "&lt;", "<text bytes='-1'>", "<text", "<page a='>'", "<", ">", "\x00", "9", "text", `<!DOCTYPE x [<!ENTITY e SYSTEM "file://` + filepath.Join(tr.root, "etc/secret.txt") + `">]>`}
			b := bytes.NewBufferString(dumpHead)
			for range 20_000 {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			b.WriteString(dumpPage(9, "The end of it all is a sound page with enough words to be kept."))
			b.WriteString("</mediawiki>\n")
			return b.Bytes()
		},
		"endless.xml": func(r *rand.Rand, _ *trap) []byte {
			return []byte(dumpHead + strings.Repeat("<page>", 1000<<uint(r.IntN(9))) + "<title>" + strings.Repeat("t", 1<<uint(r.IntN(22))))
		},
		"head.xml": func(r *rand.Rand, _ *trap) []byte {
			b := []byte(dumpHead)
			return append(damage(r, b), dumpOf("Sound.")[len(dumpHead):]...)
		},
		"cut.xml.bz2":    func(r *rand.Rand, _ *trap) []byte { return cut(r, bytes.Clone(democorpus.Dump())) },
		"random.xml.bz2": func(r *rand.Rand, _ *trap) []byte { return damage(r, bytes.Clone(democorpus.Dump())) },
		"shuffled.xml.bz2": func(r *rand.Rand, _ *trap) []byte { // pieces of streams in another order
			b := democorpus.Dump()
			var out []byte
			for range 2 + r.IntN(6) {
				i := r.IntN(len(b))
				out = append(out, b[i:min(len(b), i+r.IntN(60_000))]...)
			}
			return append([]byte("BZh9"), out...)
		},
		"noise.xml.bz2": func(r *rand.Rand, _ *trap) []byte {
			b := make([]byte, 100_000)
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return append([]byte("BZh9\x31\x41\x59\x26\x53\x59"), b...)
		},
	}
	return kindsOf(kinds, "--wiki-dump")
}

func textKinds() []hostileKind {
	kinds := map[string]func(r *rand.Rand, tr *trap) []byte{
		"noise.txt": func(r *rand.Rand, _ *trap) []byte {
			b := make([]byte, r.IntN(200_000))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			return b
		},
		"utf16.txt": func(r *rand.Rand, _ *trap) []byte { // with halves of pairs, and half a character at the end
			b := []byte{0xff, 0xfe}
			for _, u := range utf16.Encode([]rune(strings.Repeat(soundBook, 50))) {
				if r.IntN(50) == 0 {
					u = uint16(0xd800 + r.IntN(0x800))
				}
				b = append(b, byte(u), byte(u>>8))
			}
			return b[:len(b)-r.IntN(2)]
		},
		"utf32.txt": func(r *rand.Rand, _ *trap) []byte {
			b := []byte{0xff, 0xfe, 0, 0}
			for _, c := range strings.Repeat(soundBook, 50) {
				b = append(b, byte(c), byte(c>>8), byte(c>>16), 0)
			}
			return b
		},
		"marks.txt": func(r *rand.Rand, _ *trap) []byte {
			marks := []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff", "\x2b\x2f\x76\x38", "\xf7\x64\x4c", "\x00\x00\xfe\xff"}
			return []byte(marks[r.IntN(len(marks))] + marks[r.IntN(len(marks))] + strings.Repeat(soundBook, 10))
		},
		"invalid.txt": func(r *rand.Rand, _ *trap) []byte {
			bad := []string{"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xe2\x82", "\x80", "\xff", "\xc3\x28", "\xf0\x28\x8c\xbc", "\ufffd", "\ufeff", "\u0000"}
			var b strings.Builder
			for range 2000 {
				b.WriteString(soundBook[:r.IntN(len(soundBook))])
				b.WriteString(bad[r.IntN(len(bad))])
			}
			return []byte(b.String())
		},
		"line.txt": func(r *rand.Rand, _ *trap) []byte {
			return []byte(strings.Repeat([]string{"a", "a ", " ", "\t", "\r", "\n", "\v", "\f", "\u0085", "\u2028", ".", "e\u0301", "\u0301", "-\n", "🧵"}[r.IntN(15)], 1<<uint(15+r.IntN(10))))
		},
		"pack.txt": func(r *rand.Rand, _ *trap) []byte { // a text that is packed, and packed, and cut
			b := []byte(strings.Repeat(soundBook, 1000))
			for range 1 + r.IntN(4) {
				b = gzipped(b)
			}
			return b[:len(b)-r.IntN(20)]
		},
		"members.txt": func(r *rand.Rand, _ *trap) []byte {
			return append(bytes.Repeat(gzipped(nil), 10_000<<uint(r.IntN(4))), gzipped([]byte(soundBook))...)
		},
		"gutenberg.txt": func(r *rand.Rand, _ *trap) []byte {
			return []byte(strings.Repeat([]string{"*** START OF ", "*** END OF THE PROJECT GUTENBERG EBOOK X ***\n", "*** START OF THE PROJECT GUTENBERG EBOOK X ***\n"}[r.IntN(3)], 10_000) + soundBook)
		},
	}
	return kindsOf(kinds, "--books")
}
