package wikitext

import (
	"fmt"
	"testing"
)

// BenchmarkHostilePages gives the times for hostile pages of 2 MB, the largest
// that MediaWiki saves. Each must stay below 200 ms.
func BenchmarkHostilePages(b *testing.B) {
	for form, name := range []string{"repeated", "closed", "lines"} {
		for _, piece := range hostilePieces {
			page := []byte(hostilePages(piece, 2<<20)[form])
			b.Run(fmt.Sprintf("%s/%q", name, piece), func(b *testing.B) {
				s := NewScanner(DefaultOptions())
				var text []byte
				b.SetBytes(int64(len(page)))
				for b.Loop() {
					text = s.AppendText(text[:0], page, Page{Lang: "en"})
				}
			})
		}
	}
}
