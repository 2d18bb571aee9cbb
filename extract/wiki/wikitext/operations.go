package wikitext

import (
	"strings"

	"pretext/extract/wiki/rendering"
)

// operations returns the functions that render templates, indexed by rendering.Op. An
// Op without a function writes nothing. operations is a function and not a variable,
// because some operations render templates, which would be an initialization cycle.
func operations() [rendering.OpVariable + 1]func(call) {
	all := [...]func(call){
		rendering.OpText:      opText,
		rendering.OpArg:       opArg,
		rendering.OpElse:      opElse,
		rendering.OpArgAfter:  func(c call) { c.affixed("", c.arg(c.rule.N), c.rule.Text) },
		rendering.OpQuoted:    opQuoted,
		rendering.OpLast:      func(c call) { c.quoted(c.lastArgument(c.rule.N)) },
		rendering.OpLastOf:    func(c call) { c.quoted(c.lastArgument(c.rule.N)) },
		rendering.OpJoin:      func(c call) { c.joined(c.rule.N, c.rule.Text) },
		rendering.OpAlt:       func(c call) { c.put(either(c.named(c.rule.Text), c.arg(c.rule.N))) },
		rendering.OpBlock:     opBlock,
		rendering.OpItems:     opItems,
		rendering.OpBreak:     func(c call) { c.breakLine() },
		rendering.OpSound:     opSound,
		rendering.OpConvert:   opConvert,
		rendering.OpNumber:    opNumber,
		rendering.OpValue:     opValue,
		rendering.OpFraction:  opFraction,
		rendering.OpLang:      opLang,
		rendering.OpZh:        opZh,
		rendering.OpJapanese:  opJapanese,
		rendering.OpKorean:    opKorean,
		rendering.OpDate:      func(c call) { c.date(c.rule.N, c.is("df")) },
		rendering.OpAsOf:      opAsOf,
		rendering.OpCirca:     opCirca,
		rendering.OpAge:       opAge,
		rendering.OpCountry:   opCountry,
		rendering.OpShip:      opShip,
		rendering.OpShipClass: opShipClass,
		rendering.OpLink:      opLink,
		rendering.OpHarvard:   opHarvard,
		rendering.OpMusic:     opMusic,
		rendering.OpHeight:    opHeight,
		rendering.OpScience:   func(c call) { c.affixed("×10", c.arg(1), "") },
		rendering.OpSic:       opSic,
		rendering.OpTranslit:  func(c call) { c.put(c.lastArgument(3)) },
		rendering.OpEra:       opEra,
		rendering.OpCentury:   opCentury,
		rendering.OpGiven:     func(c call) { c.put(c.args[0].value) },
		rendering.OpPair:      opPair,
		rendering.OpAbsolute:  func(c call) { c.affixed("|", c.arg(1), "|") },
		rendering.OpOldStyle:  opOldStyle,
		rendering.OpDates:     opDates,
		rendering.OpFreeDate:  opFreeDate,
		rendering.OpReign:     opReign,
		rendering.OpAthlete:   opAthlete,
		rendering.OpVerse:     opVerse,
		rendering.OpNuclide:   opNuclide,
		rendering.OpChemistry: opChemistry,
		rendering.OpStacked:   opStacked,
		rendering.OpBraKet:    opBraKet,
		rendering.OpAmount:    opAmount,
		rendering.OpSterling:  opSterling,
		rendering.OpGauge:     opGauge,
		rendering.OpListing:   opListing,
		rendering.OpMeasure:   opMeasure,
		rendering.OpIncise:    opIncise,
		rendering.OpEtCetera:  opEtCetera,
		rendering.OpEraName:   opEraName,
		rendering.OpSiglo:     opSiglo,
		rendering.OpElevation: opElevation,
		rendering.OpWikitext:  opWikitext,
		rendering.OpVariable:  nil,
	}
	for op, render := range dictionaryOperations() {
		all[op] = render
	}
	return all
}

// dictionaryOperations returns the functions that render templates of dictionaries.
func dictionaryOperations() map[rendering.Op]func(call) {
	return map[rendering.Op]func(call){
		rendering.OpForm:         opForm,
		rendering.OpDescendant:   opDescendant,
		rendering.OpAlternatives: opAlternatives,
		rendering.OpColumns:      opColumns,
		rendering.OpHead:         opHead,
		rendering.OpHeadNoun:     opHeadNoun,
		rendering.OpHeadEnglish:  opHeadEnglish,
		rendering.OpExample:      opExample,
		rendering.OpQuotation:    opQuotation,
		rendering.OpTranslated:   opTranslated,
		rendering.OpReference:    opReference,
		rendering.OpSentence:     opSentence,
		rendering.OpTerms:        opTerms,
		rendering.OpRelation:     opRelation,
		rendering.OpLabels:       opLabels,
		rendering.OpInflection:   opInflection,
		rendering.OpMorphemes:    opMorphemes,
		rendering.OpEtymon:       opEtymon,
		rendering.OpWord:         opWord,
		rendering.OpTitle:        opTitle,
	}
}

// opText renders the text of the rule. On the German Wikipedia, {{FRA|#}} is a flag without the
// name of the country.
func opText(c call) {
	if string(c.bytes(c.arg(1))) != "#" || c.wiki.baseLang() != "de" {
		c.spaced(c.rule.Text)
	}
}

// opQuoted renders an argument between the two halves of the rule's text. A wiki may have the
// marks of other languages as labels: {{"|text|lang=en}} of the German Wikipedia is “text”. If
// it lacks those of the language, the template is a hole.
func opQuoted(c call) {
	lang := string(c.bytes(c.named("lang")))
	if lang == "" || c.wiki.label("quotes en") == "" {
		c.quoted(c.arg(c.rule.N))
		return
	}
	marks := c.wiki.label("quotes " + lang)
	if marks == "" {
		c.hole(c.given)
		return
	}
	before, after, _ := strings.Cut(marks, "|")
	c.affixed(before, c.arg(c.rule.N), after)
}

// opPair renders two arguments, c.rule.N and c.rule.N+1, of which the second may be
// missing. c.rule.Text has two or three parts, separated by "|": the texts before the
// first, before the second and after the second argument.
func opPair(c call) {
	before, rest, _ := strings.Cut(c.rule.Text, "|")
	between, after, _ := strings.Cut(rest, "|")
	c.affixed(before, c.arg(c.rule.N), "")
	c.affixed(between, c.arg(c.rule.N+1), after)
}

// opNumber renders a number after the template's text.
func opNumber(c call) {
	if p := c.arg(c.rule.N); !p.empty() {
		c.str(c.rule.Text)
		c.number(p)
	}
}

// opBlock renders an argument that consists of whole lines: a quotation, list or
// poem. The rule's text may be the argument's name.
func opBlock(c call) {
	if p := c.named(c.rule.Text); !p.empty() && c.rule.Text != "" {
		c.blocks.lines(p)
		return
	}
	p := either(c.named("text", "quote", "content", "1"), c.arg(c.rule.N))
	if c.isLanguage(p) && !c.arg(c.rule.N+1).empty() { // {{quote|de|text}} of Wiktionaries
		c.hole(c.given)
		return
	}
	c.blocks.lines(p)
}

// opItems renders the positional arguments from number n on. Each starts a new line.
func opItems(c call) {
	for place, value := range positional(c.args) {
		if place >= c.rule.N {
			c.blocks.lines(value)
		}
	}
}
