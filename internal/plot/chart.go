package plot

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// A Point is one point of a [Line].
type Point struct{ X, Y float64 }

// A Look is the style of a line.
type Look string

// The styles of lines.
const (
	Thin   Look = "thin"   // single values, in the background
	Strong Look = "strong" // the main line
	Marked Look = "marked" // few values, each with a dot
	Dashed Look = "dashed" // a reference
)

// A Line joins points, ascending by X.
type Line struct {
	Name   string // in the legend
	Look   Look
	Points []Point
}

// A Chart has lines over an x axis that begins at 0.
type Chart struct {
	Name  string // for screen readers
	X, Y  string // titles of the axes
	Lines []Line
}

// Size of a chart, in SVG units; a unit is about one pixel on a wide screen.
const chartWidth, chartHeight = 720, 420

// SVG draws the chart, with the legend below the axis. It omits points that are not
// finite or whose X is below 0.
func (c Chart) SVG() template.HTML {
	// Axes that contain all points. A flat line is drawn in the
	// middle.
	right, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if drawable(p) {
				right, lo, hi = max(right, p.X), min(lo, p.Y), max(hi, p.Y)
			}
		}
	}
	if right <= 0 {
		right = 1
	}
	switch {
	case lo > hi:
		lo, hi = 0, 1
	case lo == hi:
		margin := math.Abs(lo) / 10
		if margin == 0 {
			margin = 1
		}
		lo, hi = lo-margin, hi+margin
	default: // leave a margin, so that no point lies on the edge
		margin := (hi - lo) / 25
		lo, hi = lo-margin, hi+margin
	}
	f := &frame{left: 64, right: chartWidth - 26, top: 12, bottom: chartHeight - 84,
		x: scale{hi: right, most: 7, unit: brief}, y: scale{lo: lo, hi: hi, most: 7}}

	var d drawing
	d.addf(`<svg class="chart wide" viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, esc(c.Name))
	f.axes(&d, c.X, c.Y)
	for _, l := range c.Lines {
		f.line(&d, l)
	}
	c.legend(&d)
	d.addf(`</svg>`)
	return d.html()
}

// drawable reports whether a point can be drawn: X is not negative, and both coordinates
// are so small that all distances between points are finite.
func drawable(p Point) bool { return p.X >= 0 && p.X < 1e300 && math.Abs(p.Y) < 1e300 }

func (f *frame) line(d *drawing, l Line) {
	points := f.thin(l.Points)
	if len(points) == 0 {
		return
	}
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%.1f,%.1f ", f.px(p.X), f.py(p.Y))
	}
	d.addf(`<polyline class="line %s" points="%s"><title>%s</title></polyline>`, l.Look, strings.TrimSpace(b.String()), esc(l.Name))
	if l.Look != Marked && len(points) > 1 {
		return
	}
	for _, p := range points {
		d.addf(`<circle class="dot %s" cx="%.1f" cy="%.1f" r="3"><title>%s, %s: %.4g</title></circle>`, l.Look, f.px(p.X), f.py(p.Y), esc(l.Name), brief(p.X), p.Y)
	}
}

// thin returns only the lowest and the highest point within each unit of the x axis, so
// that a drawing of a million steps takes only a few kilobytes.
func (f *frame) thin(points []Point) (kept []Point) {
	var low, high Point
	column, any := math.Inf(-1), false
	flush := func() {
		switch {
		case !any:
		case low == high:
			kept = append(kept, low)
		case low.X <= high.X:
			kept = append(kept, low, high)
		default:
			kept = append(kept, high, low)
		}
	}
	for _, p := range points {
		if !drawable(p) {
			continue
		}
		if at := math.Floor(f.px(p.X)); at != column || !any {
			flush()
			column, any, low, high = at, true, p, p
			continue
		}
		if p.Y < low.Y {
			low = p
		}
		if p.Y > high.Y {
			high = p
		}
	}
	flush()
	return kept
}

// legend draws the names of the lines, in rows below the title of the x axis.
func (c Chart) legend(d *drawing) {
	const swatch, gap = 30.0, 18.0
	x, y := 64.0, float64(chartHeight-28)
	for _, l := range c.Lines {
		width := swatch + labelWidth*float64(len([]rune(l.Name))) + gap
		if x > 64 && x+width > chartWidth {
			x, y = 64, y+20
		}
		d.addf(`<line class="line %s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="key" x="%.1f" y="%.1f">%s</text>`,
			l.Look, x, x+swatch-8, y-4, y-4, x+swatch, y, esc(l.Name))
		x += width
	}
}
