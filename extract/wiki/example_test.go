package wiki_test

import (
	"fmt"
	"strings"

	"pretext/extract/wiki"
)

func Example() {
	xml := `<mediawiki xml:lang="en">
  <siteinfo><dbname>birdwiki</dbname></siteinfo>
  <page>
    <title>Wren</title>
    <ns>0</ns>
    <id>7</id>
    <revision><text>The '''wren''' is a small [[bird]]. &lt;!-- add a picture --&gt;</text></revision>
  </page>
  <page>
    <title>Troglodytes</title>
    <ns>0</ns>
    <id>8</id>
    <redirect title="Wren" />
    <revision><text>#REDIRECT [[Wren]]</text></revision>
  </page>
</mediawiki>`
	file, size := strings.NewReader(xml), int64(len(xml))

	head, err := wiki.ReadHead(file, size)
	if err != nil {
		fmt.Println(err)
		return
	}
	dump := wiki.Dump{File: file, Size: size, Name: "birdwiki.xml", Head: head}
	var stats wiki.Stats
	for _, rng := range wiki.Ranges(size) {
		r := wiki.NewReader(dump, rng, wiki.DefaultOptions())
		for doc, err := range r.Documents() {
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%s %s (%s): %s\n", doc.ID, doc.Title, doc.Lang, doc.Text)
		}
		stats.Add(r.Stats())
	}
	fmt.Println(stats.Pages, "pages,", stats.Kept, "kept, rejects:", stats.Rejects)

	// Output:
	// birdwiki:7 Wren (en): The wren is a small bird.
	// 2 pages, 1 kept, rejects: map[redirect:1]
}
