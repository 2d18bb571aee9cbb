package sentence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// This file is Punkt written down the plain way: rule by rule, with regular expressions, slices
// and copies, in time that may grow with the square of the text. It shares
// nothing with the real one but the parameters, and is what FuzzPunkt compares
// it with.

const pySpaceClass = `\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}`

var (
	refSpace     = regexp.MustCompile(`^[` + pySpaceClass + `]`)
	refSpaces    = regexp.MustCompile(`^[` + pySpaceClass + `]+`)
	refNonSpaces = regexp.MustCompile(`(?s)^[^` + pySpaceClass + `]+`)
	refNonWord   = regexp.MustCompile(`^[)";}\]*:@'({\[?!]`)
	refWordStart = regexp.MustCompile(`(?s)^[^("` + "`" + `{\[:;&#*@)}\]\-,` + pySpaceClass + `]`)
	refMultiChar = regexp.MustCompile(`^(?:-{2,}|\.{2,}|(?:\.[` + pySpaceClass + `]){2,}\.)`)
	refEllipsis  = regexp.MustCompile(`^\.\.+$`)
	refNumber    = regexp.MustCompile(`^-?[.,]?\p{Nd}[\p{Nd},.\-]*\.?$`)
	refInitial   = regexp.MustCompile(`^[\p{L}\p{Nl}\p{No}_]\.$`)
	refClosers   = regexp.MustCompile(`^(["')\]}]+?)([` + pySpaceClass + `]+|--|$)`)
)

// A refToken is a word with its marks.
type refToken struct {
	word, typ            string
	ends, abbr, ellipsis bool
}

func refSpans(p *parameters, text string) []Span {
	var slices []Span
	lastBreak := 0
	for _, c := range refContexts(text) {
		if refEndsWithin(p, text[c.start:c.end]) {
			slices = append(slices, Span{lastBreak, c.mark + 1})
			lastBreak = c.nextWord
		}
	}
	rest := strings.TrimRightFunc(text, refIsSpace)
	slices = append(slices, Span{lastBreak, len(rest)})

	var spans []Span
	realign := 0
	for i, s := range slices {
		s.Start += realign
		realign = 0
		if i+1 < len(slices) {
			next := slices[i+1]
			if m := refClosers.FindStringSubmatch(text[next.Start:next.End]); m != nil {
				s.End = next.Start + len(m[1])
				realign = len(m[1])
				if m[2] != "--" {
					realign = len(m[0])
				}
			}
		}
		if s.Start < s.End {
			spans = append(spans, s)
		}
	}
	return spans
}

// refContexts returns the candidates with the context of each.
func refContexts(text string) []candidate {
	var all []candidate
	for i := range len(text) {
		if !strings.ContainsRune(".?!", rune(text[i])) {
			continue
		}
		c := candidate{mark: i, nextWord: i + 1}
		rest := text[i+1:]
		if after := refNonWord.FindString(rest); after != "" {
			c.end = i + 1 + len(after)
		} else {
			gap := refSpaces.FindString(rest)
			next := refNonSpaces.FindString(rest[len(gap):])
			if gap == "" || next == "" {
				continue
			}
			c.nextWord = i + 1 + len(gap)
			c.end = c.nextWord + len(next)
		}
		all = append(all, c)
	}
	var kept []candidate
	previousStart, previousStop := 0, 0
	for i := range all {
		start := previousStart
		if at := strings.LastIndexAny(text[previousStop:all[i].mark], " \t\n\r\v\f"); at > 0 {
			start = previousStop + at + 1
		}
		all[i].start = start
		if i > 0 && previousStop <= start {
			kept = append(kept, all[i-1])
		}
		previousStart, previousStop = start, all[i].mark
	}
	if len(all) > 0 {
		kept = append(kept, all[len(all)-1])
	}
	return kept
}

func refEndsWithin(p *parameters, context string) bool {
	var tokens []refToken
	for line := range strings.SplitSeq(context, "\n") {
		for _, word := range refWords(line) {
			tokens = append(tokens, refFirstPass(p, word))
		}
	}
	for i := range len(tokens) - 1 {
		refSecondPass(p, &tokens[i], &tokens[i+1])
		if tokens[i].ends {
			return true
		}
	}
	return false
}

func refWords(line string) []string {
	var words []string
	for line != "" {
		if gap := refSpaces.FindString(line); gap != "" {
			line = line[len(gap):]
			continue
		}
		word := refMultiChar.FindString(line)
		if word == "" && refWordStart.MatchString(line) {
			word = refWord(line)
		}
		if word == "" {
			_, width := utf8.DecodeRuneInString(line)
			word = line[:width]
		}
		words = append(words, word)
		line = line[len(word):]
	}
	return words
}

// refWord returns the shortest beginning of line with the end of a word behind.
func refWord(line string) string {
	for end := 0; end < len(line); {
		_, width := utf8.DecodeRuneInString(line[end:])
		end += width
		rest := line[end:]
		if rest == "" || refSpace.MatchString(rest) || refNonWord.MatchString(rest) || refMultiChar.MatchString(rest) {
			return line[:end]
		}
		if after, ok := strings.CutPrefix(rest, ","); ok {
			if after == "" || refSpace.MatchString(after) || refNonWord.MatchString(after) || refMultiChar.MatchString(after) {
				return line[:end]
			}
		}
	}
	return line
}

func refFirstPass(p *parameters, word string) refToken {
	typ := refLower(word)
	t := refToken{word: word, typ: typ}
	if refNumber.MatchString(typ) {
		t.typ = "##number##"
	}
	switch {
	case word == "." || word == "?" || word == "!":
		t.ends = true
	case refEllipsis.MatchString(word):
		t.ellipsis = true
	case strings.HasSuffix(word, ".") && !strings.HasSuffix(word, ".."):
		stem := refLower(strings.TrimSuffix(word, "."))
		parts := strings.Split(stem, "-")
		t.abbr = p.words[stem]&abbreviation != 0 || p.words[parts[len(parts)-1]]&abbreviation != 0
		t.ends = !t.abbr
	}
	return t
}

func refSecondPass(p *parameters, a, b *refToken) {
	if !strings.HasSuffix(a.word, ".") {
		return
	}
	typ, next := refNoStop(a.typ), b.typ
	if b.ends {
		next = refNoStop(next)
	}
	initial := refInitial.MatchString(a.word)
	if _, ok := p.pairs[typ+"\t"+next]; ok {
		a.ends, a.abbr = false, true
		return
	}
	first, _ := utf8.DecodeRuneInString(b.word)
	upper := unicode.IsUpper(first) || unicode.Is(unicode.Other_Uppercase, first)
	heuristic := refHeuristic(p.words[next], b.word, first, upper)
	if (a.abbr || a.ellipsis) && !initial {
		if heuristic == "yes" || upper && p.words[next]&starter != 0 {
			a.ends = true
			return
		}
	}
	if initial || typ == "##number##" {
		if heuristic == "no" || heuristic == "unknown" && initial && upper && p.words[next]&anyLower == 0 {
			a.ends, a.abbr = false, true
		}
	}
}

func refHeuristic(info wordInfo, word string, first rune, upper bool) string {
	small := unicode.IsLower(first) || unicode.Is(unicode.Other_Lowercase, first)
	switch {
	case len(word) == 1 && strings.Contains(";:,.!?", word):
		return "no"
	case upper && info&anyLower != 0 && info&middleUpper == 0:
		return "yes"
	case small && (info&anyUpper != 0 || info&beginLower == 0):
		return "no"
	}
	return "unknown"
}

func refNoStop(typ string) string {
	if len(typ) > 1 {
		return strings.TrimSuffix(typ, ".")
	}
	return typ
}

func refIsSpace(r rune) bool { return refSpace.MatchString(string(r)) }

// refLower is Python's str.lower; invalid bytes stay.
func refLower(s string) string {
	var out strings.Builder
	for i, r := range s {
		_, width := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			out.WriteByte(s[i])
		case r == 'İ':
			out.WriteString("i\u0307")
		case r == 'Σ' && refCasedAround(s[:i], s[i+width:]):
			out.WriteRune('ς')
		default:
			out.WriteRune(unicode.ToLower(r))
		}
	}
	return out.String()
}

// refCasedAround reports whether before ends in a cased letter and after does
// not begin with one, when what is Case_Ignorable is not looked at.
func refCasedAround(before, after string) bool {
	ignorable := func(r rune) bool {
		return strings.ContainsRune("'.‘’․﹒＇．:·\u0387՟״‧︓﹕：", r) ||
			unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
	}
	cased := func(r rune) bool {
		return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Uppercase, unicode.Other_Lowercase)
	}
	before = strings.TrimRightFunc(before, ignorable)
	after = strings.TrimLeftFunc(after, ignorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return cased(last) && !cased(next)
}
