package wikitext

import (
	"strings"
)

// opTitle renders the headword of a page of Wiktionary: {{de-noun|m}} as "Tag m". The word is
// {{…|head=…}}, or the title; its gender is {{…|g=…}} or the first argument.
func opTitle(c call) {
	c.headword()
	t := c.namedParts("")
	if first := c.arg(1); t.genders[0].empty() && !first.empty() && c.isGender(first) {
		t.genders[0] = first
	}
	c.romanized(t)
	c.genders(t.genders)
}

// headword writes {{…|head=…}}, or the title.
func (c *call) headword() {
	if head := c.named("head", "head1"); !head.empty() {
		c.put(head)
		return
	}
	c.str(c.wiki.page.Title)
}

// romanized writes the transliteration of a headword.
func (c *call) romanized(t term) {
	if !t.tr.empty() && string(c.bytes(t.tr)) != "-" {
		c.affixed(" (", t.tr, ")")
	}
}

// opHead renders a headword with its forms: {{head|fr|noun|g=m|plural|mots}} as
// "mot m (plural mots)". A language and a part of speech come first, then labels, each with
// a form; a form after the label "or" belongs to the one before it.
func opHead(c call) {
	c.headword()
	t := c.namedParts("")
	c.romanized(t)
	c.genders(t.genders)
	before := " ("
	for place := 3; place <= c.lastPlace(); place += 2 {
		label, form := c.arg(place), c.termAt(place+1, "#")
		if label.empty() && form.form().empty() {
			continue
		}
		switch {
		case string(c.bytes(label)) != "or":
			c.str(before)
			c.put(label)
		case before == ", ":
			c.str(" or")
		}
		if !form.form().empty() {
			if !label.empty() {
				c.str(" ")
			}
			c.put(form.form())
		}
		before = ", "
	}
	if before == ", " {
		c.str(")")
	}
}

// opHeadNoun renders a noun with its gender, argument c.rule.N, and its form in the next
// argument: {{fr-noun|m|yeux}} as "œil m (plural yeux)". The rule's text names the form. The
// default form of a language, and signs instead of a form, show nothing.
func opHeadNoun(c call) {
	opTitle(c)
	form := c.termAt(c.rule.N+1, "#").form()
	if text := c.bytes(form); len(text) > 1 && strings.IndexByte("+-~?!#*%<", text[0]) < 0 {
		c.affixed(" ("+c.rule.Text+" ", form, ")")
	}
}

// opHeadEnglish renders an English word with its forms. The rule's text is its part of speech.
// Source: the documentation of the templates of the English Wiktionary.
func opHeadEnglish(c call) {
	c.headword()
	var args []string
	for place, value := range positional(c.args) {
		if place <= maxHeadForms {
			args = append(args, string(c.bytes(value)))
		}
	}
	for len(args) > 0 && args[len(args)-1] == "" {
		args = args[:len(args)-1]
	}
	var text string
	switch title := c.wiki.page.Title; c.rule.Text {
	case "noun", "proper noun":
		text = englishNoun(title, args, c.rule.Text == "noun")
	case "verb":
		text = englishVerb(title, args)
	case "adjective":
		text = englishComparison(title, args)
	}
	if text != "" {
		c.str(" (" + text + ")")
	}
}

// maxHeadForms is the maximum number of forms of an English word.
const maxHeadForms = 8

// isForm reports whether an argument of a headword is a plain word.
func isForm(s string) bool { return s != "" && !strings.ContainsAny(s, "<>{}[]|*+~?!#=/,") && s != "-" }

// englishNoun returns the forms of a noun: "plural words", "countable and uncountable,
// plural words". A proper noun has no plural unless it is given.
func englishNoun(title string, args []string, plural bool) string {
	kind := ""
	if len(args) > 0 {
		switch args[0] {
		case "-":
			if kind = "uncountable"; len(args) > 1 {
				kind = "usually uncountable"
			}
			plural, args = false, args[1:]
		case "~":
			kind, plural, args = "countable and uncountable", true, args[1:]
		case "?":
			return ""
		case "!":
			return "plural not attested"
		}
	}
	if !plural && kind == "usually uncountable" && len(args) > 0 {
		plural = true
	}
	var forms []string
	for _, arg := range args {
		switch {
		case arg == "+":
			forms = append(forms, englishPlural(title))
		case arg == "s" || arg == "es":
			forms = append(forms, title+arg)
		case isForm(arg):
			forms = append(forms, arg)
		default:
			return kind // a syntax that is not known here
		}
	}
	if len(forms) == 0 && plural {
		forms = append(forms, englishPlural(title))
	}
	if len(forms) == 0 {
		return kind
	}
	text := "plural " + strings.Join(forms, " or ")
	if kind != "" {
		text = kind + ", " + text
	}
	return text
}

// englishPlural returns the regular plural of a noun, or third person of a verb.
func englishPlural(word string) string {
	n := len(word)
	switch {
	case n == 0:
		return ""
	case n > 1 && word[n-1] == 'y' && strings.IndexByte("aeiou ", word[n-2]) < 0:
		return word[:n-1] + "ies"
	case strings.HasSuffix(word, "s"), strings.HasSuffix(word, "x"), strings.HasSuffix(word, "z"), strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "sh"):
		return word + "es"
	}
	return word + "s"
}

// englishVerb returns the forms of a verb. The arguments are all four or three of the forms,
// or an older syntax: an ending, or a stem with its last letter and ending. It returns ""
// for others.
func englishVerb(title string, args []string) string {
	if title == "" || strings.Contains(title, " ") && len(args) < 3 {
		return "" // which word of a phrase is inflected is not known
	}
	stem := title
	third, present, past, participle := englishPlural(title), title+"ing", title+"ed", ""
	last := title[len(title)-1]
	switch {
	case strings.HasSuffix(title, "ie"):
		present, past = title[:len(title)-2]+"ying", title+"d"
	case strings.HasSuffix(title, "ee") || strings.HasSuffix(title, "oe") || strings.HasSuffix(title, "ye"):
		past = title + "d"
	case last == 'e':
		present, past = title[:len(title)-1]+"ing", title+"d"
	case last == 'y' && englishPlural(title) != title+"s":
		past = title[:len(title)-1] + "ied"
	}
	n := len(args)
	for _, arg := range args {
		if arg != "++" && !isForm(arg) {
			return ""
		}
	}
	switch {
	case n == 0:
	case n == 1 && args[0] == "++":
		if last < 'a' || last > 'z' {
			return "" // a letter of several bytes
		}
		present, past = title+string(last)+"ing", title+string(last)+"ed"
	case n == 1 && args[0] == "es":
		third, present, past = title+"es", title+"ing", title+"ed"
	case n == 1 && args[0] == "d":
		third, present, past = title+"s", title+"ing", title+"d"
	case n == 2 && args[1] == "ing":
		third, present, past = title+"s", args[0]+"ing", title+"d"
	case n == 3 && args[1] == "i" && args[2] == "ed":
		stem = args[0]
		third, present, past = stem+"ies", title+"ing", stem+"ied"
	case n == 3 && len(args[1]) == 1 && args[2] == "ed":
		stem = args[0] + args[1]
		third, present, past = title+"s", stem+"ing", stem+"ed"
	case n == 3 && len(args[1]) == 1 && args[2] == "es":
		stem = args[0] + args[1]
		third, present, past = stem+"es", stem+"ing", stem+"ed"
	case n >= 3 && n <= 4 && strings.HasSuffix(args[1], "ing"):
		third, present, past = args[0], args[1], args[2]
		if n == 4 {
			participle = args[3]
		}
	default:
		return ""
	}
	text := "third-person singular simple present " + third + ", present participle " + present + ", simple past "
	if participle != "" && participle != past {
		return text + past + ", past participle " + participle
	}
	return text + "and past participle " + past
}

// englishComparison returns the forms of an adjective or adverb: "comparative more X,
// superlative most X".
func englishComparison(title string, args []string) string {
	if len(args) == 0 {
		args = []string{"more"}
	}
	if args[0] == "-" {
		if len(args) == 1 {
			return "not comparable"
		}
		return ""
	}
	var more, most []string
	for _, arg := range args {
		switch {
		case arg == "more" || arg == "+":
			more, most = append(more, "more "+title), append(most, "most "+title)
		case arg == "er":
			stem := title
			switch n := len(title); {
			case strings.HasSuffix(title, "e"):
				stem = title[:n-1]
			case n > 1 && title[n-1] == 'y' && strings.IndexByte("aeiou", title[n-2]) < 0:
				stem = title[:n-1] + "i"
			}
			more, most = append(more, stem+"er"), append(most, stem+"est")
		case isForm(arg) && strings.HasSuffix(arg, "er"):
			more, most = append(more, arg), append(most, strings.TrimSuffix(arg, "er")+"est")
		default:
			return ""
		}
	}
	return "comparative " + strings.Join(more, " or ") + ", superlative " + strings.Join(most, " or ")
}
