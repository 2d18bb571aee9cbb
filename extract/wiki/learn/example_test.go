package learn_test

import (
	"fmt"
	"os"

	"pretext/extract/wiki/learn"
	"pretext/extract/wiki/wikihtml"
)

func Example() {
	table := learn.NewTable()
	for i, meters := range []string{"120", "8", "3,000"} { // as a wikihtml.Reader reports them
		table.Add(&wikihtml.Transclusion{Page: fmt.Sprintf("dewiki:%d", i), Wiki: "dewiki", Lang: "de", Name: "gipfel", Call: "{{gipfel|" + meters + "}}", Text: meters + " m hoch"})
	}
	os.Stdout.Write(table.Propose(learn.DefaultOptions()).AppendFile(nil, "pages.ndjson"))
	// Output:
	// # Source: learned from pages.ndjson, 3 uses of 1 templates in sentences.
	// # A line explains at least 90 % of at least 3 uses.
	//
	// [dewiki]
	// # 3 of 3 uses, 3 different; dewiki:0: {{gipfel|120}} → "120 m hoch"
	// template gipfel | arg-after 1 " m hoch"
}
