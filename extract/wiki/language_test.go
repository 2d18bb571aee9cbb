package wiki

import "testing"

func TestLanguageIsThatOfTheHeadUnlessTheFileIsOfAnotherWiki(t *testing.T) {
	for _, c := range []struct{ file, dbname, lang, want string }{
		{"enwiki-20250101-pages-articles.xml.bz2", "enwiki", "en", "en"},
		{"frwiki.xml.bz2", "enwiki", "en", "fr"}, // collections with one head for all files
		{"nowiki.xml.bz2", "enwiki", "en", "nb"},
		{"zh_yuewiki-latest-pages-articles.xml", "enwiki", "en", "yue"},
		{"frwiki.xml.bz2", "frwiki", "fr", "fr"},
		{"frwiki.xml.bz2", "", "en", "en"},         // nothing speaks against the head
		{"birds.xml", "shintowiki", "en", "en"},    // not a wiki's name
		{"mywiki.xml", "enwiki", "en", "my"},       // Burmese
		{"azbwiki.xml", "enwiki", "en", "azb"},     // CLDR has no name
		{"teamwiki.xml", "enwiki", "en", "en"},     // not a language
		{"frwiki.xml.bz2", "teamwiki", "en", "en"}, // a private wiki's head
		{"simplewiki.xml", "simplewiki", "en", "en"},
	} {
		d := Dump{Name: c.file, Head: Head{DBName: c.dbname, Lang: c.lang}}
		if got := d.Language(); got != c.want {
			t.Errorf("%s with the head of %s (%s): %q, want %q", c.file, c.dbname, c.lang, got, c.want)
		}
	}
}
