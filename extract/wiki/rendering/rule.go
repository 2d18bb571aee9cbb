package rendering

import (
	"fmt"
	"strconv"
	"strings"
)

// An Op is the operation that renders a template. Package wikitext implements
// the operations; a [Rule] selects one for a template.
type Op uint8

// The operations. "n" and "the text" stand for the fields of the [Rule].
const (
	OpDrop         Op = iota // nothing
	OpText                   // the text
	OpArg                    // the text, then positional argument n; the text alone in a call without arguments
	OpArgAfter               // positional argument n, then the text
	OpQuoted                 // positional argument n between the two halves of the text, separated by "|"
	OpLast                   // the last positional argument between the two halves of the text
	OpLastOf                 // the last of the first n positional arguments that is not empty, between the two halves of the text
	OpJoin                   // positional arguments from n on, separated by the text; a text of three parts goes before, between and after them
	OpAlt                    // the named argument whose name is the text, else positional argument n
	OpBlock                  // positional argument n, or named "text" or as the text says, on lines of its own
	OpItems                  // positional arguments from n on, each on a line
	OpBreak                  // ends the line
	OpSound                  // pronunciation, dropped in parentheses: positional argument 1; with n = 2, argument 2 after a language
	OpConvert                // {{convert}}: a quantity
	OpNumber                 // the text, then positional argument n with grouped digits
	OpValue                  // {{val}}
	OpFraction               // {{frac}}
	OpLang                   // {{langx}}, {{lang-xx}}: name of a language, then text in it; n = 1: the template's name contains the language
	OpZh                     // {{zh}}
	OpJapanese               // {{nihongo}}
	OpKorean                 // {{korean}}
	OpDate                   // year, month, day from argument n on
	OpAsOf                   // {{as of}}
	OpCirca                  // {{circa}}
	OpAge                    // {{age}} between two dates
	OpCountry                // {{flag}}
	OpShip                   // {{ship}}, {{USS}}
	OpShipClass              // {{sclass}}
	OpLink                   // {{ill}}
	OpHarvard                // {{harvtxt}}
	OpMusic                  // {{music}}
	OpHeight                 // {{height}}
	OpScience                // {{e}}: "times ten to the power of" the argument
	OpSic                    // {{sic}}
	OpTranslit               // {{transl}}
	OpEra                    // {{bd}}: birth and death
	OpCentury                // {{s|XIX|e}} of the French Wikipedia, then the text
	OpGiven                  // the name of the template as written in the source
	OpPair                   // positional arguments n and n + 1, if given; the text has a part before each, and an optional third part after the second
	OpAbsolute               // {{abs}}
	OpOldStyle               // {{OldStyleDate}}
	OpDates                  // {{start and end dates}}
	OpReign                  // {{reign}}: the text, then two dates
	OpFreeDate               // {{date}}: a date as one argument, or in parts
	OpAthlete                // {{flagathlete}}
	OpVerse                  // {{bibleverse}}
	OpNuclide                // {{nuclide}}
	OpChemistry              // {{chem2}}: the formula in argument 1
	OpStacked                // {{su}}
	OpBraKet                 // {{bra-ket}}
	OpAmount                 // {{INRConvert}}: the text, positional argument n, "million"
	OpSterling               // {{£sd}}
	OpGauge                  // {{track gauge}}
	OpListing                // {{listing}}: a place of Wikivoyage
	OpMeasure                // {{unité}}
	OpIncise                 // {{incise}}
	OpEtCetera               // {{etc.}}
	OpEraName                // {{BC}}, {{AD}}: positional argument 1 and the text
	OpSiglo                  // {{siglo}} of the Spanish Wikipedia: a century
	OpTitle                  // {{de-noun}} of Wiktionary: the title of the page, with its gender
	OpElevation              // {{höhe}}: positional argument 1 in metres, and the datum with the code in argument 2
	OpWord                   // {{m}} of Wiktionary: the text, then the form shown for a word, argument n + 1 or alt, else the word, argument n
	OpMorphemes              // {{suffix}} of Wiktionary: parts of a word; the text is the kind, affix, suffix, prefix or confix, and after "|" what stands before them
	OpEtymon                 // {{cog}} of Wiktionary: the text, language with the code in argument n, then the word in argument n + 1; "-" for no word
	OpTerms                  // {{hyphenation}} of Wiktionary: as OpJoin, from argument n on, without a language code
	OpRelation               // {{syn}} of Wiktionary: the text in singular or plural, then the words from argument n on, without a language code
	OpLabels                 // {{lb}} of Wiktionary: labels from argument n on
	OpInflection             // {{infl of}} of Wiktionary: the tags after the word in argument n, and the word
	OpElse                   // positional argument n, else the text: {{esd}} of the Spanish Wikipedia is a space
	OpForm                   // {{plural of}} of Wiktionary: the text, then the word in argument 1, or 2 after a language
	OpDescendant             // {{desc}} of Wiktionary: language with the code in argument n, then words
	OpAlternatives           // {{alter}} of Wiktionary: words from argument n on, and after an empty argument their labels
	OpColumns                // {{col3}} of Wiktionary: words from argument n on, each on a line
	OpHead                   // {{head}} of Wiktionary: the title of the page with labelled forms from argument 3 on
	OpHeadNoun               // {{fr-noun}} of Wiktionary: the title of the page, its gender in argument n, the text and the form in argument n + 1
	OpHeadEnglish            // {{en-noun}} of Wiktionary: the title of the page and its forms; the text is noun, proper noun, verb or adjective
	OpExample                // {{ux}} of Wiktionary: an example in argument n and its translation in n + 1, with the text or a line break between them
	OpQuotation              // {{quote-book}} of Wiktionary: a source, then the passage in argument n, or named
	OpTranslated             // {{t}} of Wiktionary: the word in argument n with the genders after it
	OpSentence               // the text with arguments in it: {1}, {name}, {1:language}, {1:Language}, {1:label}, {1:ordinal}, {title}, and parts in brackets that need theirs
	OpReference              // {{Ref-Duden}} of Wiktionary: the last of arguments n and n + 1, else the title of the page, between the two halves of the text
	OpWikitext               // the text as wikitext, with {{{1}}} and {{{name}}} for the arguments; n = 1: it shows nothing for some arguments, which is no loss
	OpVariable               // a variable of MediaWiki: function n; files cannot use it
)

// opNames are the names of the operations in files.
var opNames = [...]string{
	OpDrop: "drop", OpText: "text", OpArg: "arg", OpArgAfter: "arg-after", OpQuoted: "quoted", OpLast: "last", OpLastOf: "last-of",
	OpJoin: "join", OpAlt: "alt", OpBlock: "block", OpItems: "items", OpBreak: "break", OpSound: "sound", OpConvert: "convert",
	OpNumber: "number", OpValue: "value", OpFraction: "fraction", OpLang: "language", OpZh: "chinese", OpJapanese: "japanese",
	OpKorean: "korean", OpDate: "date", OpAsOf: "as-of", OpCirca: "circa", OpAge: "age", OpCountry: "country", OpShip: "ship",
	OpShipClass: "ship-class", OpLink: "link", OpHarvard: "harvard", OpMusic: "music", OpHeight: "height", OpScience: "science",
	OpSic: "sic", OpTranslit: "transliteration", OpEra: "life-dates", OpCentury: "century", OpGiven: "name", OpPair: "pair",
	OpAbsolute: "absolute", OpOldStyle: "old-style-date", OpDates: "dates", OpFreeDate: "free-date", OpReign: "reign", OpAthlete: "athlete",
	OpVerse: "verse", OpNuclide: "nuclide", OpChemistry: "chemistry", OpStacked: "stacked", OpBraKet: "bra-ket", OpAmount: "amount", OpSterling: "sterling",
	OpGauge: "gauge", OpListing: "listing", OpMeasure: "measure", OpIncise: "incise", OpEtCetera: "et-cetera", OpEraName: "era-name",
	OpSiglo: "siglo", OpTitle: "title", OpElevation: "elevation", OpEtymon: "etymon", OpWord: "word", OpMorphemes: "morphemes", OpElse: "arg-else",
	OpTerms: "terms", OpRelation: "relation", OpLabels: "labels", OpInflection: "inflection",
	OpForm: "form", OpDescendant: "descendant", OpAlternatives: "alternatives", OpColumns: "columns", OpHead: "head", OpHeadNoun: "head-noun",
	OpHeadEnglish: "head-english", OpExample: "example", OpQuotation: "quotation", OpTranslated: "translated", OpSentence: "sentence", OpReference: "reference",
	OpWikitext: "wikitext",
}

// opOf maps the names of operations in files to operations.
var opOf = func() map[string]Op {
	m := make(map[string]Op, len(opNames))
	for op, name := range opNames {
		m[name] = Op(op)
	}
	return m
}()

// needsNumber lists the operations that render the positional argument n.
var needsNumber = map[Op]bool{OpArg: true, OpArgAfter: true, OpQuoted: true, OpLastOf: true, OpJoin: true, OpAlt: true,
	OpBlock: true, OpItems: true, OpNumber: true, OpDate: true, OpPair: true, OpAmount: true, OpEtymon: true, OpWord: true, OpElse: true,
	OpTerms: true, OpRelation: true, OpLabels: true, OpInflection: true,
	OpDescendant: true, OpAlternatives: true, OpColumns: true, OpHeadNoun: true, OpExample: true, OpQuotation: true, OpTranslated: true, OpReference: true}

// needsText maps each operation that needs a text to whether this text must have two
// halves.
var needsText = map[Op]bool{OpWikitext: false, OpText: false, OpArgAfter: false, OpAlt: false, OpMorphemes: false, OpElse: false, OpRelation: false, OpForm: false, OpHeadNoun: false, OpHeadEnglish: false, OpSentence: false, OpQuoted: true, OpPair: true, OpReference: true}

// A Rule is the way to render a template: an operation with the parameters N and Text.
type Rule struct {
	Op   Op
	N    int    // usually the number of a positional argument, from 1
	Text string // usually shown before, after or between arguments
	User bool   // the rule is from a file of the user, and not compiled in

	Confirmed bool // rendered pages show what the rule gives: a line of kind Evidence says so
}

// maxNumber is the maximum of [Rule.N], because files write it as one digit.
const maxNumber = 9

// ParseRule parses a rule as written in a file: `arg 1 "US$"`.
func ParseRule(value string) (Rule, error) {
	word, rest, _ := strings.Cut(value, " ")
	op, ok := opOf[word]
	if !ok {
		return Rule{}, fmt.Errorf("unknown operation %q", word)
	}
	r := Rule{Op: op}
	rest = strings.TrimSpace(rest)
	if rest != "" && rest[0] != '"' {
		word, rest, _ = strings.Cut(rest, " ")
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > maxNumber {
			return Rule{}, fmt.Errorf("operation %s: %q is not the number of an argument, 1 to %d", opNames[op], word, maxNumber)
		}
		r.N, rest = n, strings.TrimSpace(rest)
	}
	if rest != "" {
		text, err := strconv.Unquote(rest)
		if err != nil {
			return Rule{}, fmt.Errorf("operation %s: %s is not a quoted text", opNames[op], rest)
		}
		r.Text = text
	}
	return r, r.check()
}

// check returns an error if the operation needs a number or text that the rule lacks.
func (r Rule) check() error {
	halves, text := needsText[r.Op]
	switch {
	case needsNumber[r.Op] && r.N == 0:
		return fmt.Errorf("operation %s: the number of an argument is missing", opNames[r.Op])
	case text && r.Text == "":
		return fmt.Errorf("operation %s: the text is missing", opNames[r.Op])
	case halves && !strings.Contains(r.Text, "|"):
		return fmt.Errorf("operation %s: text %q has no %q between its halves", opNames[r.Op], r.Text, "|")
	case strings.ContainsAny(r.Text, "\r\n"):
		return fmt.Errorf("operation %s: text %q is not one line", opNames[r.Op], r.Text)
	}
	return nil
}

// String returns the rule as it is written in a file.
func (r Rule) String() string {
	if r.Op == OpVariable {
		return "variable"
	}
	s := opNames[r.Op]
	if r.N != 0 {
		s += " " + strconv.Itoa(r.N)
	}
	if r.Text != "" {
		s += " " + strconv.Quote(r.Text)
	}
	return s
}
