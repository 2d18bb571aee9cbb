package plot

import (
	"html/template"
	"math"
)

// A Bar is the number of values in the range [From, To).
type Bar struct {
	From, To float64
	N        int64
	Title    string // tooltip
}

// A Histogram counts values along an axis. Bars are ascending and do not overlap.
type Histogram struct {
	Name string // for screen readers
	X, Y string // titles of the axes
	Bars []Bar
	Log  bool                 // the x axis is logarithmic: all bars begin above 0
	Unit func(float64) string // formats a tick of the x axis; nil: as a number
}

// Filled returns the number of bars that are not empty, and the last such bar. If there are
// fewer than two, write a sentence instead of drawing a histogram.
func (h Histogram) Filled() (n int, last Bar) {
	for _, b := range h.Bars {
		if b.N > 0 {
			n, last = n+1, b
		}
	}
	return n, last
}

// Size of a histogram, in SVG units; a unit is about one pixel on a wide screen.
const (
	histogramWidth  = 420
	histogramHeight = 230
	widestBar       = 48
	yTicks          = 6 // maximum number of ticks on the y axis
)

// wholeSteps returns the lowest tick of the y axis that is at least most.
func wholeSteps(most float64) float64 {
	step := tickStep(0, most, yTicks-1)
	return math.Ceil(most/step-1e-9) * step
}

// SVG draws the histogram. Without bars it returns "".
func (h Histogram) SVG() template.HTML {
	if len(h.Bars) == 0 {
		return ""
	}
	most := int64(1)
	for _, b := range h.Bars {
		most = max(most, b.N)
	}
	f := frame{left: 58, right: histogramWidth - 24, top: 10, bottom: histogramHeight - 46,
		x: scale{lo: h.Bars[0].From, hi: h.Bars[len(h.Bars)-1].To, log: h.Log, most: 6, unit: h.Unit}, y: scale{hi: wholeSteps(float64(most)), most: yTicks, unit: brief}}
	if h.Unit == nil {
		f.x.unit = brief
	}
	var d drawing
	d.addf(`<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, histogramWidth, histogramHeight, esc(h.Name))
	f.axes(&d, h.X, h.Y)
	for _, b := range h.Bars {
		if b.N == 0 {
			continue
		}
		x, width := f.px(b.From), f.px(b.To)-f.px(b.From)
		gap := math.Max(math.Min(2, width*0.15), width-widestBar)
		height := math.Max(f.bottom-f.py(float64(b.N)), 0.5)
		d.addf(`<rect class="column" x="%.2f" y="%.2f" width="%.2f" height="%.2f" rx="%.1f"><title>%s</title></rect>`,
			x+gap/2, f.bottom-height, math.Max(width-gap, 0.3), height, math.Min(2, (width-gap)/6), esc(b.Title))
	}
	d.addf(`</svg>`)
	return d.html()
}
