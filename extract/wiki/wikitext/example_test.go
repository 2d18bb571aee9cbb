package wikitext_test

import (
	"fmt"

	"pretext/extract/wiki/wikitext"
)

func ExampleScanner_AppendText() {
	s := wikitext.NewScanner(wikitext.DefaultOptions())
	src := []byte("{{Infobox hill}}\n" +
		"The '''Blue Hill''' ({{IPAc-en|b|l|uː}}) is a [[hill]] of {{convert|412|m|ft}}\n" +
		"in [[Somewhere (county)|Somewhere]].<ref>A map.</ref>\n\n" +
		"== Plants ==\n* [[Oak]]s\n* ''Larch''\n\n== See also ==\n* [[Red Hill]]\n")
	text := s.AppendText(nil, src, wikitext.Page{Title: "Blue Hill", Lang: "en"})
	fmt.Printf("%s\n", text)
	// Output:
	// The Blue Hill is a hill of 412 metres (1,350 ft) in Somewhere.
	// Plants
	// Oaks
	// Larch
}

func ExampleScanner_Dropped() {
	s := wikitext.NewScanner(wikitext.DefaultOptions())
	s.AppendText(nil, []byte("{{Foo}} {{bar|1}} {{foo}}"), wikitext.Page{})
	for name, count := range s.Dropped() {
		fmt.Println(name, count)
	}
	// Output:
	// foo 2
	// bar 1
}

func ExampleIsRedirect() {
	fmt.Println(wikitext.IsRedirect([]byte("#REDIRECT [[Blue Hill]]")))
	fmt.Println(wikitext.IsRedirect([]byte("#WEITERLEITUNG [[Blauer Berg]]")))
	fmt.Println(wikitext.IsRedirect([]byte("# first item")))
	// Output:
	// true
	// true
	// false
}
