package squad

// FinalText is what an aligner finds.
func FinalText(predicted, original string, lower bool) string {
	a, err := newAligner(lower)
	if err != nil {
		panic(err)
	}
	return a.find(predicted, original)
}
