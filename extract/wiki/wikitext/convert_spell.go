package wikitext

import "strings"

var (
	wordsBelow20 = [20]string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
		"thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	wordsOfTens = [10]string{2: "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
)

// A spelling is the argument spell= of {{convert}}: which values are written in
// words, on English wikis.
type spelling struct{ input, output, capital bool }

// parseSpelling parses "in", "on" and, for a capital letter, "In" and "On".
func parseSpelling(value []byte) spelling {
	switch string(value) {
	case "in":
		return spelling{input: true}
	case "In":
		return spelling{input: true, capital: true}
	case "on":
		return spelling{input: true, output: true}
	case "On":
		return spelling{input: true, output: true, capital: true}
	}
	return spelling{}
}

// maxSpelled limits the numbers that are written in words: only smaller ones are.
const maxSpelled = 1_000_000

// numberInWords returns n, with 0 ≤ n < maxSpelled, in English words: "one hundred and
// five", or "one hundred five" in American English.
func numberInWords(n int, american bool) string {
	switch {
	case n < 20:
		return wordsBelow20[n]
	case n < 100:
		if n%10 == 0 {
			return wordsOfTens[n/10]
		}
		return wordsOfTens[n/10] + "-" + wordsBelow20[n%10]
	}
	unit, word := 100, " hundred"
	if n >= 1000 {
		unit, word = 1000, " thousand"
	}
	text := numberInWords(n/unit, american) + word
	rest := n % unit
	switch {
	case rest == 0:
		return text
	case american || rest >= 100:
		return text + " " + numberInWords(rest, american)
	}
	return text + " and " + numberInWords(rest, american)
}

// appendWords appends an amount in words to x.aside. ok is false if the amount is not a
// natural number below maxSpelled.
func (x *converter) appendWords(a amount, capital bool) (ok bool) {
	n := int(a.value)
	if a.value < 0 || a.value >= maxSpelled || float64(n) != a.value || a.decimals > 0 || !x.wiki.table.English() {
		return false
	}
	text := numberInWords(n, x.american)
	if capital {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	x.aside = append(x.aside, text...)
	return true
}
