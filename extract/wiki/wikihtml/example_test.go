package wikihtml_test

import (
	"fmt"
	"io"
	"strings"

	"pretext/extract/wiki"
	"pretext/extract/wiki/wikihtml"
)

func ExampleReader() {
	const line = `{"name":"Wren","identifier":7,"is_part_of":{"identifier":"enwiki"},"article_body":{"html":"<p>The <b>wren</b> sings.</p><table><tr><td>x</td></tr></table>"}}`
	in := wikihtml.Input{Name: "enwiki.ndjson", Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(line)), nil }}
	for doc, err := range wikihtml.NewReader(in, wiki.DefaultOptions()).Documents() {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(doc.ID, doc.Text)
	}
	// Output: enwiki:7 The wren sings.
}
