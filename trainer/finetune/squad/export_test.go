package squad

import "pretext/tokenize"

// FinalText is what an aligner finds.
func FinalText(predicted, original string, lower bool) string {
	a, err := newAligner(tokenize.Options{DoLowerCase: lower})
	if err != nil {
		panic(err)
	}
	from, to := a.find(predicted, original)
	return original[from:to]
}
