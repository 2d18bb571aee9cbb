package report

import (
	"regexp"
	"strconv"
	"testing"
)

var label = regexp.MustCompile(`<text class="x" x="([0-9.]+)" y="[0-9]+">([^<]+)</text>`)

func TestLabelsOfAnAxisDoNotOverlap(t *testing.T) {
	var bars []bar
	for i := range 24 {
		bars = append(bars, bar{n: 1, label: shortSize(1 << i)})
	}
	found := label.FindAllStringSubmatch(string(histogram(halfWidth, "name", "axis", bars)), -1)
	if len(found) < 4 {
		t.Fatalf("got %d labels, want the axis to be readable", len(found))
	}
	end := 0.0
	for _, m := range found {
		at, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		half := 3 * float64(len(m[2])) // of 11 pixels high characters
		if at-half < end {
			t.Errorf("%s begins at %.0f, the label before it ends at %.0f", m[2], at-half, end)
		}
		end = at + half
	}
}
