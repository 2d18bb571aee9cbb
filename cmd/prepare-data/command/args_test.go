package command

import (
	"strings"
	"testing"
)

func TestWordsAfterAFlagOfFilesAreItsValues(t *testing.T) {
	for line, want := range map[string]string{
		"run --wiki-dump a b c --out x":        "run --wiki-dump=a --wiki-dump=b --wiki-dump=c --out x",
		"run --wiki_dump=a b --books c d -o x": "run --wiki_dump=a --wiki_dump=b --books=c --books=d -o x",
		"run --out x a":                        "run --out x a",
		"run --wiki-dump a --quiet b":          "run --wiki-dump=a --quiet b",
		"run --wiki-dump":                      "run --wiki-dump",
		"run --wiki-dump -x y":                 "run --wiki-dump=-x --wiki-dump=y",
		"run --books a -- --books b c":         "run --books=a -- --books b c",
		"examples d --text a b --vocab v w":    "examples d --text=a --text=b --vocab v w",
		"x --wiki-dump w1.xml-p9p9.bz2 w1.xml-p10p20.bz2 w1.xml-p1p8.bz2": "x --wiki-dump=w1.xml-p1p8.bz2 --wiki-dump=w1.xml-p9p9.bz2 --wiki-dump=w1.xml-p10p20.bz2",
		"x --wiki-dump w-p9p9.xml --wiki-dump w-p1p8.xml":                 "x --wiki-dump=w-p9p9.xml --wiki-dump=w-p1p8.xml",
	} {
		if got := strings.Join(Args(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: got\n%s, want\n%s", line, got, want)
		}
	}
}
