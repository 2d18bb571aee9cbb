package onig

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pretext/internal/dev/torture"
	"pretext/internal/usage"
)

// spans returns the matches in a text as start, end, start, end, ….
func spans(re *Regexp, text string, patience int) (out []int) {
	m := re.Matches(text)
	m.m.patience = patience
	for m.Next() {
		out = append(out, m.Start, m.End)
	}
	return out
}

// randomPattern returns an expression of the characters a, b and c.
func randomPattern(r *rand.Rand, depth int) string {
	if depth == 0 {
		return []string{"a", "b", "c", "[ab]", "[^a]", ".", `\b`, "$", "^"}[r.IntN(9)]
	}
	one, two := randomPattern(r, depth-1), randomPattern(r, r.IntN(depth))
	switch r.IntN(8) {
	case 0:
		return "(" + one + "|" + two + ")"
	case 1:
		return "(" + one + ")" + []string{"*", "+", "?", "*?", "+?", "??", "++", "{1,3}", "{2}", "{0,2}?"}[r.IntN(10)]
	case 2:
		return "(?" + []string{"=", "!", "<=", "<!", ">", ":"}[r.IntN(6)] + one + ")" + two
	case 3:
		return "(" + one + two + ")+"
	}
	return one + two
}

// The memo only saves time: from the first step or never, the matches are the same.
func TestWhatIsRememberedChangesNoMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compiled := 0
	for range torture.Cases(400, 20000) {
		re, err := Compile(randomPattern(r, 1+r.IntN(5)))
		if err != nil {
			continue
		}
		compiled++
		text := make([]byte, r.IntN(14))
		for i := range text {
			text[i] = "aabbc\n"[r.IntN(6)]
		}
		always, never := spans(re, string(text), math.MinInt/2), spans(re, string(text), math.MaxInt/2)
		if !slices.Equal(always, never) {
			t.Fatalf("%q: got %v with a memo, want %v", text, always, never)
		}
	}
	if compiled < 200 {
		t.Errorf("only %d expressions were tested", compiled)
	}
}

// What is tried from one start is not tried again from the next: the steps grow with
// the square of the text, not with its cube.
func TestAFailureIsRememberedForEveryStart(t *testing.T) {
	for _, pattern := range []string{`(a+)+$`, `(a+)+$|a`, `(?=(a+)+$)|a`, `(a|aa)+$`, `(a*b?a*)$`, `(?<=(?:a?){30}a{30})c`} {
		steps := func(n int) int {
			re, err := Compile(pattern)
			if err != nil {
				t.Fatal(err)
			}
			m := re.Matches(strings.Repeat("a", n) + "b")
			for m.Next() {
			}
			return m.m.steps
		}
		if few, many := steps(500), steps(1000); many > 5*few || many > 2e7 {
			t.Errorf("%s: %d steps for 500 characters, %d for 1000", pattern, few, many)
		}
	}
	re, _ := Compile(`\s+$`)
	m := re.Matches(strings.Repeat(" ", 1e6) + "b")
	if m.Next() || m.m.steps > 2e7 {
		t.Errorf(`\s+$: %d steps for a million spaces`, m.m.steps)
	}
}

func TestASpentBudgetEndsTheSearch(t *testing.T) {
	re, err := Compile(`(?:(a+)+$|(?=a)){2}x`)
	if err != nil {
		t.Fatal(err)
	}
	budget := NewBudget(1e6)
	m := &Matches{}
	m.Reset(re, strings.Repeat("a", 1e6)+"b", budget)
	if m.Next() || !budget.Spent() || m.m.steps > 3e6 {
		t.Errorf("spent %v after %d steps", budget.Spent(), m.m.steps)
	}
	m.Reset(re, "ab", budget)
	if m.Next() || m.m.steps > 10 {
		t.Errorf("%d steps with a spent budget", m.m.steps)
	}
}

// Expressions that are small to write and large to compile.
func TestNoExpressionTakesLongToCompile(t *testing.T) {
	deep := func(open, close string, n int) string {
		return strings.Repeat(open, n) + "a" + strings.Repeat(close, n)
	}
	for name, pattern := range map[string]string{
		"nested loops":           deep("(", "+b)", 90),
		"repeated nothing":       deep("(", "|){1000}", 6) + strings.Repeat("(", 9) + strings.Repeat("){1000}", 9),
		"alternatives":           strings.Repeat("ab|", 20000) + "c",
		"alternatives of sets":   strings.Repeat(`\p{L}x|`, 9000) + "c",
		"properties":             "[" + strings.Repeat(`\p{L}`, 12000) + "]",
		"characters of a set":    "[" + farApart() + "]",
		"repetitions of one":     "a" + strings.Repeat("{2}", 20000),
		"possessive":             "(?:ab)" + strings.Repeat("+", 60000),
		"sets in sets":           strings.Repeat("[a", 90) + strings.Repeat("]", 90),
		"look-behind, overflown": "(?<=a" + strings.Repeat("{16}", 16) + ")b",
	} {
		t.Run(name, func(t *testing.T) {
			before := usage.CPU()
			_, err := Compile(pattern[:min(len(pattern), maxPattern)])
			if took := usage.CPU() - before; took > 2*time.Second {
				t.Errorf("%v of CPU; %v", took, err)
			}
		})
	}
}

// farApart returns characters no two of which are neighbours.
func farApart() string {
	var b strings.Builder
	for c := rune(0x4e00); b.Len() < maxPattern-10; c += 2 {
		b.WriteRune(c)
	}
	return b.String()
}

func ExampleBudget() {
	re, _ := Compile(`(a+)+$`)
	var m Matches
	budget := NewBudget(1000)
	m.Reset(re, strings.Repeat("a", 1000)+"b", budget)
	fmt.Println(m.Next(), budget.Spent())
	// Output: false true
}
