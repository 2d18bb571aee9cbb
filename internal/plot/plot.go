// Package plot draws the charts of reports and of loss curves as SVG:
//
//	svg := plot.Histogram{Name: "examples by their tokens", X: "tokens", Y: "examples", Bars: bars}.SVG()
//	svg := plot.Chart{Name: "loss by step", X: "step", Y: "loss", Lines: lines}.SVG()
//	page := "<style>" + plot.Style + "</style>" + svg
//
// Drawings have a viewBox but no size, so they are as wide as the element
// around them. Colours are custom properties of [Style], which follows the
// reader's light or dark setting and prints on white. Axes have titles, and
// ticks at 1, 2 or 5 times a power of ten.
//
// The bytes of a drawing are a function of its values. All text is escaped. The
// package keeps no state.
package plot

import (
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

// Style is the CSS of all drawings. Pages may use its colours too.
//
//go:embed style.css
var Style string

// A drawing is an SVG that is being built.
type drawing struct{ strings.Builder }

func (d *drawing) addf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *drawing) html() template.HTML { return template.HTML(d.String()) }

// esc makes text safe inside SVG.
func esc(s string) string { return template.HTMLEscapeString(s) }

// File returns a drawing as the content of an .svg file, with namespace, style
// and background.
func File(svg template.HTML) []byte {
	text := strings.Replace(string(svg), "<svg ", `<svg xmlns="http://www.w3.org/2000/svg" `, 1)
	head, rest, _ := strings.Cut(text, ">\n")
	return []byte(head + ">\n<style>\n" + Style + "</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n" + rest)
}

// A frame is the rectangle between the axes, in units of the viewBox.
type frame struct {
	left, right, top, bottom float64
	x, y                     scale
}

func (f *frame) px(v float64) float64 { return f.left + (f.right-f.left)*f.x.at(v) }
func (f *frame) py(v float64) float64 { return f.bottom - (f.bottom-f.top)*f.y.at(v) }

// labelWidth is the maximum width of a character in a legend, in SVG units. It is the width
// on narrow screens, where the text of charts is larger.
const labelWidth = 9.5

// axes draws the grid, the ticks' numbers and the titles of both axes.
func (f *frame) axes(d *drawing, x, y string) {
	for _, v := range f.y.ticks() {
		d.addf(`<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="y" x="%.1f" y="%.1f">%s</text>`,
			f.left, f.right, f.py(v), f.py(v), f.left-6, f.py(v)+4, esc(f.y.label(v)))
	}
	for _, v := range f.x.ticks() {
		d.addf(`<line class="tick" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/><text class="x" x="%.1f" y="%.1f">%s</text>`,
			f.px(v), f.px(v), f.bottom, f.bottom+4, f.px(v), f.bottom+18, esc(f.x.label(v)))
	}
	middle := (f.top + f.bottom) / 2
	d.addf(`<text class="axis" x="%.1f" y="%.1f">%s</text>`, (f.left+f.right)/2, f.bottom+37, esc(x))
	d.addf(`<text class="axis" x="13" y="%.1f" transform="rotate(-90 13 %.1f)">%s</text>`, middle, middle, esc(y))
}
