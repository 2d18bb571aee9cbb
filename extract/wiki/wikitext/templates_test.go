package wikitext

import (
	"strings"
	"testing"

	"pretext/extract/wiki/rendering"
)

func TestNamesInRenderingDataAreFolded(t *testing.T) {
	var scratch []byte
	for e := range rendering.NewSet().Entries() {
		if e.Kind != rendering.Template {
			continue
		}
		if folded := string(fold(&scratch, []byte(e.Name))); folded != e.Name {
			t.Errorf("%s:%d: template %q: folded it is %q", e.File, e.Line, e.Name, folded)
		}
	}
}

// The lists of cases compare texts with their white space folded.
func TestSpacesThatTemplatesBringAreNotDoubled(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for source, want := range map[string]string{
		"a {{·}} b {{nbsp}}c":       "a · b c",
		"a {{snd}}b{{snd}}c":        "a – b – c",
		"a{{nbsp}}{{nbsp}}b":        "a b",
		"a{{spaced en dash}}{{x}}b": "a – b",
	} {
		if got := string(s.AppendText(nil, []byte(source), Page{Lang: "en"})); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

func TestUncertaintiesHaveOneSignEach(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for source, want := range map[string]string{
		"{{val|1.5|+0.2|-0.1}}": "1.5 +0.2 −0.1",
		"{{val|1.5|0.2|0.1}}":   "1.5 +0.2 −0.1",
		"{{val|1.5|+-2|−1}}":    "1.5 +-2 −1",
		"{{val|1.5|0.2}}":       "1.5±0.2",
		"{{val|1.5|(2)}}":       "1.5(2)",
	} {
		if got := string(s.AppendText(nil, []byte(source), Page{Lang: "en"})); got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}

// What Wiktionary's templates show, in the syntax of today and in that of older dumps.
func TestTemplatesOfWiktionary(t *testing.T) {
	for source, want := range map[string]string{
		"From {{der|en|gem-pro|*berô}} x":                        "From Proto-Germanic *berô x",
		"From {{inh|en|ine-pro|*bʰer-}} x":                       "From Proto-Indo-European *bʰer- x",
		"From {{cog|pro|aver}} x":                                "From Old Occitan aver x",
		"From {{cog|qqq-pro|aver}} x":                            "From aver x", // and a hole
		"From {{suffix|en|morn|ing}} x":                          "From morn + -ing x",
		"From {{suffix|morn|ing|lang=en}} x":                     "From morn + -ing x",
		"From {{suf|en|use|-ful|-ness}} x":                       "From use + -ful + -ness x",
		"From {{compound|en|black|bird|t1=dark}} x":              "From black (“dark”) + bird x",
		"From {{prefix|en|un|do}} x":                             "From un- + do x",
		"From {{confix|en|de|brief|ing}} x":                      "From de- + brief + -ing x",
		"From {{affix|en|re-|use|alt2=USE}} x":                   "From re- + USE x",
		"From {{m|grc|ἀββᾶς}} x":                                 "From ἀββᾶς x",
		"From {{m|la|abbas|abbās|father}} x":                     "From abbās (“father”) x",
		"From {{term||ἀββᾶς|lang=grc}} x":                        "From ἀββᾶς x",
		"From {{term|ab||away|lang=la}} x":                       "From ab (“away”) x",
		"From {{m|arc||tr=ʾabbā}} x":                             "From ʾabbā x",
		"From {{der|en|la||abbās}} x":                            "From Latin abbās x",
		"From {{der|en|grc|λόγος|tr=lógos|t=word|lit=saying}} x": "From Ancient Greek λόγος (lógos, “word”, literally “saying”) x",
		"{{bor+|en|fr|mot}} x":                                   "Borrowed from French mot x",
		"By {{bor+|en|fr|mot|nocap=1}} x":                        "By borrowed from French mot x",
		"By {{bor+|en|fr|mot|notext=1}} x":                       "By French mot x",
		"{{cal|en|de|Übermensch}} x":                             "Calque of German Übermensch x",
		"{{blend|en|breakfast|lunch}} x":                         "Blend of breakfast + lunch x",
		"{{clipping|en|gymnasium}} x":                            "Clipping of gymnasium x",
		"{{dbt|en|a|b}} x":                                       "Doublet of a and b x",
		"# {{lb|en|UK|_|slang}} x":                               "(UK slang) x",
		"# {{lb|en|transitive|or|intransitive|dated}} x":         "(transitive or intransitive, dated) x",
		"# {{lb|en|chiefly|US|informal}} x":                      "(chiefly US, informal) x",
		"# {{context|now|_|rare|lang=en}} x":                     "(now rare) x",
		"# {{infl of|la|verbum||nom//acc|p}}":                    "nominative/accusative plural of verbum",
		"# {{inflection of|verbum||abl|s|lang=la}}":              "ablative singular of verbum",
		"# {{infl of|la|verbum||nom|p|;|voc|p}}":                 "inflection of verbum: nominative plural; vocative plural",
		"* {{IPA|en|/a/|/b/}}":                                   "IPA(key): /a/, /b/",
		"* {{IPA|/a/|lang=en}}":                                  "IPA(key): /a/",
		"* {{hyphenation|en|mor|ning}}":                          "Hyphenation: mor‧ning",
		"* {{homophones|en|bare|bear}}":                          "Homophones: bare, bear",
		"* {{hmp|en|bare}}":                                      "Homophone: bare",
		"#: {{syn|en|car|auto|t2=vehicle|Thesaurus:car}}":        "Synonyms: car, auto (“vehicle”); see also Thesaurus:car",
		"See {{w|Foo|bar}} x":                                    "See bar x",
		"x{{root|en|ine-pro|*bʰer-}}":                            "x",
		"* French: {{t|fr|mot|m}}, {{t+|fr|x|alt=y}}":            "French: mot m, y",
	} {
		s := NewScanner(DefaultOptions())
		got := string(s.AppendText(nil, []byte(source), Page{Lang: "en", Wiki: "enwiktionary", Title: "P"}))
		holes := strings.Count(source, "qqq")
		if got != want || s.PageHoles() != holes {
			t.Errorf("%q: got %q with %d holes, want %q with %d", source, got, s.PageHoles(), want, holes)
		}
	}
}

// Nothing is said of a word that is not there.
func TestTemplatesOfWiktionaryWithoutWords(t *testing.T) {
	s := NewScanner(DefaultOptions())
	for _, source := range []string{"{{lb|en}}", "{{infl of|la}}", "{{clipping|en}}", "{{blend|en}}", "{{syn|en}}"} {
		if got := string(s.AppendText(nil, []byte("x "+source+" y"), Page{Lang: "en", Wiki: "enwiktionary"})); got != "x y" {
			t.Errorf("%s: got %q", source, got)
		}
	}
}
