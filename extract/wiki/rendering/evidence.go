package rendering

import "fmt"

// Evidence about a rule: what rendered pages, or a wiki's own definitions, show for uses of
// the template. A rule with at least minEvidence uses is confirmed if minEqual of them are
// equal; otherwise it is not used, because it is wrong.
const (
	minEvidence = 3
	minEqual    = 0.95
)

// A Verdict is what evidence says about a compiled-in rule.
type Verdict string

// The verdicts.
const (
	TooFew    Verdict = "too few uses" // no effect
	Confirmed Verdict = "confirmed"
	Wrong     Verdict = "contradicted" // the rule is not used
)

// Judge returns the verdict about a rule that gives the text of equal of uses uses.
func Judge(equal, uses int64) Verdict {
	switch {
	case uses < minEvidence:
		return TooFew
	case float64(equal) >= minEqual*float64(uses):
		return Confirmed
	}
	return Wrong
}

// EvidenceValue returns the value of a line of kind [Evidence].
func EvidenceValue(equal, uses int64) string { return fmt.Sprintf("%d of %d", equal, uses) }

// evidence parses the value of a line of kind [Evidence].
func evidence(value string) (equal, uses int64, err error) {
	if n, err := fmt.Sscanf(value+" ", "%d of %d ", &equal, &uses); n != 2 || err != nil || equal < 0 || equal > uses || value != EvidenceValue(equal, uses) {
		return 0, 0, fmt.Errorf("%q: want EQUAL of USES, such as 19 of 20", value)
	}
	return equal, uses, nil
}

// judge marks the compiled-in rules that are confirmed, and removes those that are wrong. A
// rule of the user is not judged.
func (t *Table) judge() {
	for name, value := range t.texts[Evidence] {
		equal, uses, err := evidence(value)
		rule, ok := t.Template([]byte(name))
		if err != nil || !ok || rule.User {
			continue
		}
		switch Judge(equal, uses) {
		case Confirmed:
			rule.Confirmed = true
			t.templates[name] = rule // of a pattern too: the evidence is about this name
		case Wrong:
			t.wrong[name] = true
		}
	}
}
