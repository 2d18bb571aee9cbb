package quality

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pretext/extract"
)

// The measures again, by the plainest means that say the same: slices of
// strings, maps and regular expressions.

var (
	spacelessClass = `[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]`
	alone          = regexp.MustCompile(spacelessClass)
	sentenceEnd    = regexp.MustCompile(`[。！？]|[.!?．।॥؟۔።։…]["'”’»«›)\]」』）]*(?:[\s\x{85}\p{Z}]|$)`)
	c4Menu         = regexp.MustCompile(`(?i:javascript|terms of use|privacy policy|cookie policy|uses? (?:of )?cookies)`)
)

func slowWords(text string) []string {
	return strings.FieldsFunc(alone.ReplaceAllString(text, " $0 "), unicode.IsSpace)
}

func slowLines(text string) (lines []string) {
	for _, l := range strings.Split(text, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

func slowParagraphs(text string) (paragraphs []string) {
	for _, p := range regexp.MustCompile(`\n[^\S\n]*(?:\n[^\S\n]*)+`).Split(blankUnicode(text), -1) {
		if p = strings.TrimSpace(p); p != "" {
			paragraphs = append(paragraphs, p)
		}
	}
	return paragraphs
}

// blankUnicode makes all white space but the line feed a plain space, which
// regular expressions know, where a line has nothing else.
func blankUnicode(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) == "" {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

func share[T any](of []T, is func(T) bool) (float64, bool) {
	n := 0
	for _, x := range of {
		if is(x) {
			n++
		}
	}
	return ratio(n, len(of))
}

func chars(s string) int { return utf8.RuneCountInString(s) }

// repeats returns how many units were there before, and their characters.
func slowRepeats(units []string) (n, characters int) {
	for i, u := range units {
		if slices.Contains(units[:i], u) {
			n++
			characters += chars(u)
		}
	}
	return n, characters
}

func slowTop(words []string, n int, text string) (float64, bool) {
	times := map[string]int{}
	for i := 0; i+n <= len(words); i++ {
		times[strings.Join(words[i:i+n], " ")]++
	}
	most, covered := 0, 0
	for gram, k := range times {
		if k > 1 && (k > most || k == most && k*chars(gram) > covered) {
			most, covered = k, k*chars(gram)
		}
	}
	return ratio(covered, chars(text))
}

func slowDuplicateGrams(words []string, n int, text string) (float64, bool) {
	seen := map[string]bool{}
	repeated := 0
	for i := 0; i+n <= len(words); {
		gram := strings.Join(words[i:i+n], "\x00")
		if seen[gram] {
			repeated += chars(strings.Join(words[i:i+n], ""))
			i += n
			continue
		}
		seen[gram] = true
		i++
	}
	return ratio(repeated, chars(text))
}

func slowSentences(text string) (n int) {
	for _, line := range slowLines(text) {
		words := slowWords(line)
		switch {
		case !endsInMark(line), strings.HasSuffix(line, "..."), strings.HasSuffix(line, "…"), len(words) < 3,
			slices.ContainsFunc(words, func(w string) bool { return chars(w) > 1000 }), c4Menu.MatchString(line):
			continue
		}
		n += max(1, len(sentenceEnd.FindAllString(line, -1)))
	}
	return n
}

func slowMeasure(d *extract.Document, name string) (float64, bool) {
	text := d.Text
	words, lines := slowWords(text), slowLines(text)
	var spaced []string
	for _, w := range words {
		if !alone.MatchString(w) {
			spaced = append(spaced, w)
		}
	}
	lineRepeats, lineRepeatChars := slowRepeats(lines)
	paragraphs := slowParagraphs(text)
	paragraphRepeats, paragraphRepeatChars := slowRepeats(paragraphs)
	english := slices.Contains([]string{"", "en", "en-GB", "simple"}, d.Lang)
	var n int
	switch name {
	case "min-characters", "max-characters":
		return float64(chars(text)), true
	case "min-words", "max-words":
		return float64(len(words)), true
	case "min-mean-word-length", "max-mean-word-length":
		if len(words) > 2*len(spaced) {
			return 0, false
		}
		return ratio(chars(strings.Join(spaced, "")), len(spaced))
	case "max-hash-ratio":
		return ratio(strings.Count(text, "#"), len(words))
	case "max-ellipsis-ratio":
		return ratio(len(regexp.MustCompile(`\.\.\.|…`).FindAllString(text, -1)), len(words))
	case "max-bullet-lines":
		return share(lines, func(l string) bool { return strings.ContainsAny(string([]rune(l)[:1]), bullets) })
	case "max-ellipsis-lines":
		return share(lines, func(l string) bool { return regexp.MustCompile(`(?:\.\.\.|…)$`).MatchString(l) })
	case "min-alphabetic-words":
		return share(words, func(w string) bool { return regexp.MustCompile(`\p{L}`).MatchString(w) })
	case "min-stop-words":
		found := map[string]bool{}
		for _, w := range words {
			w = strings.ToLower(strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }))
			if slices.Contains(stopWords[:], w) {
				found[w] = true
			}
		}
		return float64(len(found)), english
	case "max-lorem-ipsum":
		for _, l := range lines {
			if strings.Contains(strings.ToLower(l), "lorem ipsum") {
				n++
			}
		}
		return float64(n), true
	case "max-curly-brackets":
		return float64(strings.Count(text, "{")), true
	case "min-sentences":
		return float64(slowSentences(text)), true
	case "min-punctuated-lines":
		return share(lines, func(l string) bool {
			return regexp.MustCompile(`[.!?。！？．।॥؟۔።։…"'”’»」]$`).MatchString(l)
		})
	case "max-short-lines":
		return share(lines, func(l string) bool { return chars(l)+2*(chars(l)-chars(alone.ReplaceAllString(l, ""))) <= 30 })
	case "max-line-breaks":
		return ratio(strings.Count(text, "\n"), len(words))
	case "max-repeated-line-characters":
		return ratio(lineRepeatChars, chars(strings.ReplaceAll(text, "\n", "")))
	case "max-duplicate-lines":
		return ratio(lineRepeats, len(lines))
	case "max-duplicate-line-characters":
		return ratio(lineRepeatChars, chars(text))
	case "max-duplicate-paragraphs":
		return ratio(paragraphRepeats, len(paragraphs))
	case "max-duplicate-paragraph-characters":
		return ratio(paragraphRepeatChars, chars(text))
	}
	if _, err := fmt.Sscanf(name, "max-top-%d-gram", &n); err == nil {
		return slowTop(words, n, text)
	}
	if _, err := fmt.Sscanf(name, "max-duplicate-%d-grams", &n); err == nil {
		return slowDuplicateGrams(words, n, text)
	}
	panic("no slow measure of " + name)
}
