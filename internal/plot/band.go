package plot

import (
	"fmt"
	"html/template"
	"math"
)

// A Band shows a fraction and its expected range.
type Band struct {
	Value, Low, High, Expected float64
	Within                     bool
	Format                     func(float64) string
}

// Size of a band.
const bandWidth, bandHeight = 300.0, 26.0

// SVG draws the allowed range, the expected value as a line and the value as a point.
func (b Band) SVG() template.HTML {
	low, high := math.Min(b.Low, b.Value), math.Max(b.High, b.Value)
	margin := math.Max((high-low)*0.15, 1e-4)
	low, high = math.Max(0, low-margin), math.Min(1, high+margin)
	x := func(v float64) float64 { return 6 + (bandWidth-12)*(v-low)/(high-low) }
	class := "point"
	if !b.Within {
		class = "point odd"
	}
	text := func(v float64) string { return esc(b.Format(v)) }
	var d drawing
	d.addf(`<svg class="band" viewBox="0 0 %g %g" role="img" aria-label="%s, allowed %s to %s">`, bandWidth, bandHeight, text(b.Value), text(b.Low), text(b.High))
	d.addf(`<line class="rail" x1="6" x2="%g" y1="13" y2="13"/>`, bandWidth-6)
	d.addf(`<rect class="allowed" x="%.2f" y="8" width="%.2f" height="10" rx="3"><title>allowed: %s to %s</title></rect>`,
		x(b.Low), math.Max(x(b.High)-x(b.Low), 2), text(b.Low), text(b.High))
	d.addf(`<line class="expected" x1="%.2f" x2="%.2f" y1="4" y2="22"><title>expected: %s</title></line>`, x(b.Expected), x(b.Expected), text(b.Expected))
	d.addf(`<circle class="%s" cx="%.2f" cy="13" r="4.5"><title>found: %s</title></circle></svg>`, class, x(b.Value), text(b.Value))
	return d.html()
}

// Proportion draws a fraction, 0 to 1, as a bar in a row of a table. Any fraction above
// 0 is visible.
func Proportion(fraction float64) template.HTML {
	return template.HTML(fmt.Sprintf(`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="column" width="%.2f" height="10"/></svg>`,
		math.Max(100*fraction, 0.4)))
}
