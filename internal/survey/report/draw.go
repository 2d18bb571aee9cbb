package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"

	"pretext/internal/survey"
)

// Sizes of drawings, in units that are about a pixel on a wide screen.
const (
	wholeWidth  = 960 // of a drawing as wide as the page
	halfWidth   = 450 // of one of two beside each other
	chartHeight = 200
	widestBar   = 44
	plotLeft    = 46 // room for the numbers of the y axis
	plotRight   = 8
	plotTop     = 10
	plotBottom  = 34 // room for the numbers and the name of the x axis
)

// A bar is one column of a histogram.
type bar struct {
	label string // below the axis; "" for none
	title string // what a pointer on it reads
	n     int64
}

// A drawing is an SVG under construction.
type drawing struct{ strings.Builder }

func (d *drawing) addf(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// esc makes text safe inside SVG.
func esc(s string) string { return template.HTMLEscapeString(s) }

func (d *drawing) html() template.HTML { return template.HTML(d.String()) }

// histogram draws columns over an axis of numbers.
func histogram(chartWidth int, name, axis string, bars []bar) template.HTML {
	most := int64(1)
	for _, b := range bars {
		most = max(most, b.n)
	}
	step := niceStep(float64(most) / 4)
	top := math.Ceil(float64(most)/step) * step
	width, height := float64(chartWidth-plotLeft-plotRight), float64(chartHeight-plotTop-plotBottom)
	y := func(n float64) float64 { return plotTop + height*(1-n/top) }
	var d drawing
	d.addf(`<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, esc(name))
	for n := 0.0; n <= top+step/2; n += step {
		d.addf(`<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/><text class="y" x="%d" y="%.1f">%s</text>`,
			plotLeft, chartWidth-plotRight, y(n), y(n), plotLeft-6, y(n)+3.5, brief(n))
	}
	column := width / float64(max(len(bars), 1))
	gap := math.Max(math.Min(2, column*0.15), column-widestBar)
	free := math.Inf(-1) // where the next label may begin
	for i, b := range bars {
		x := plotLeft + column*float64(i)
		if b.n > 0 {
			d.addf(`<rect class="column" x="%.2f" y="%.2f" width="%.2f" height="%.2f" rx="%.1f"><title>%s</title></rect>`,
				x+gap/2, y(float64(b.n)), math.Max(column-gap, 0.3), math.Max(height+plotTop-y(float64(b.n)), 0.5), math.Min(2, (column-gap)/6), esc(b.title))
		}
		if half := labelWidth * float64(len(b.label)) / 2; b.label != "" && x+column/2-half >= free {
			free = x + column/2 + half + labelWidth
			d.addf(`<text class="x" x="%.1f" y="%d">%s</text>`, x+column/2, chartHeight-18, esc(b.label))
		}
	}
	d.addf(`<text class="axis" x="%d" y="%d">%s</text></svg>`, (plotLeft+chartWidth-plotRight)/2, chartHeight-3, esc(axis))
	return d.html()
}

// labelWidth is about how wide a character of a label is.
const labelWidth = 6.5

// niceStep returns the first of 1, 2, 5, 10, 20, 50, … that is not below x.
func niceStep(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(math.Max(x, 1))))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= x {
			return math.Max(1, m*power)
		}
	}
	return 10 * power
}

// brief writes a number of an axis.
func brief(n float64) string {
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= unit.from {
			return strings.TrimSuffix(fmt.Sprintf("%.1f", n/unit.from), ".0") + unit.name
		}
	}
	return fmt.Sprintf("%g", n)
}

// maxColumns is how many columns a histogram has at most.
const maxColumns = 128

// columns puts values from 0 to most into columns of equal width and labels
// some of them.
func columns(bins []survey.Bin, most int, unit string) (bars []bar) {
	width := max(1, (most+maxColumns)/maxColumns)
	n := most/width + 1
	bars = make([]bar, n)
	every := max(1, n/6)
	for i := range bars {
		from, to := i*width, (i+1)*width-1
		bars[i].title = fmt.Sprintf("%d %s", from, unit)
		if width > 1 {
			bars[i].title = fmt.Sprintf("%d to %d %s", from, to, unit)
		}
		if i%every == 0 && i <= n-1-every/2 || i == n-1 {
			bars[i].label = fmt.Sprint(from)
		}
	}
	for _, b := range bins {
		bars[min(b.Value/width, n-1)].n += b.Count
	}
	for i := range bars {
		bars[i].title += ": " + count(bars[i].n) + " examples"
	}
	return bars
}

func lengths(r *survey.RecordStats) template.HTML {
	return histogram(halfWidth, "examples by their tokens", "tokens of an example, [CLS] and [SEP] included", columns(r.Lengths, r.MaxSeqLength, "tokens"))
}

func predictions(r *survey.RecordStats) template.HTML {
	return histogram(halfWidth, "examples by their predictions", "predicted tokens of an example", columns(r.Masked, r.MaxPredictionsPerSeq, "predictions"))
}

// textLengths draws documents by the power of two of their length.
func textLengths(d *survey.DocumentStats) template.HTML {
	var bars []bar
	if len(d.Lengths) > 0 {
		at := 0
		for v := d.Lengths[0].Value; v <= d.Lengths[len(d.Lengths)-1].Value; v = max(1, 2*v) {
			b := bar{label: shortSize(v)}
			if at < len(d.Lengths) && d.Lengths[at].Value == v {
				b.n = d.Lengths[at].Count
				at++
			}
			b.title = fmt.Sprintf("%s to %s: %s documents", shortSize(v), shortSize(2*v), count(b.n))
			bars = append(bars, b)
		}
	}
	return histogram(halfWidth, "documents by their length", "text of a document, from … on", bars)
}

// shortSize writes a power of two of bytes.
func shortSize(n int) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// maxShards is how many files a drawing of the balance shows, each by a column;
// of more, neighbours share one, which shows their mean.
const maxShards = 180

func balance(s survey.Split) template.HTML {
	var bars []bar
	values := s.Records.Files
	group := (len(values) + maxShards - 1) / maxShards
	for i := 0; i < len(values); i += group {
		end := min(i+group, len(values))
		sum := int64(0)
		for _, v := range values[i:end] {
			sum += v
		}
		b := bar{n: sum / int64(end-i)}
		b.title = fmt.Sprintf("file %d: %s examples", i, count(b.n))
		if group > 1 {
			b.title = fmt.Sprintf("files %d to %d: %s examples on average", i, end-1, count(b.n))
		}
		bars = append(bars, b)
	}
	every := max(1, (len(bars)+7)/8)
	for i := range bars {
		if i%every == 0 {
			bars[i].label = fmt.Sprint(i * group)
		}
	}
	return histogram(wholeWidth, "examples in each file", "files, by number", bars)
}

// Sizes of a drawing of limits.
const bandWidth, bandHeight = 300.0, 26.0

// band draws a share within its limits: the band, what is expected, the share.
func band(s survey.Share) template.HTML {
	l := s.Limits
	if l == nil {
		return ""
	}
	low, high := math.Min(l.Low, s.Share), math.Max(l.High, s.Share)
	margin := math.Max((high-low)*0.15, 1e-4)
	low, high = math.Max(0, low-margin), math.Min(1, high+margin)
	x := func(v float64) float64 { return 4 + (bandWidth-8)*(v-low)/(high-low) }
	class := "point"
	if !l.Within {
		class = "point odd"
	}
	var d drawing
	d.addf(`<svg class="band" viewBox="0 0 %g %g" role="img" aria-label="%s, limits %s to %s">`, bandWidth, bandHeight, esc(percent(s.Share)), esc(percent(l.Low)), esc(percent(l.High)))
	d.addf(`<line class="rail" x1="4" x2="%g" y1="13" y2="13"/>`, bandWidth-4)
	d.addf(`<rect class="allowed" x="%.2f" y="8" width="%.2f" height="10" rx="3"><title>allowed: %s to %s</title></rect>`,
		x(l.Low), math.Max(x(l.High)-x(l.Low), 2), esc(percent(l.Low)), esc(percent(l.High)))
	d.addf(`<line class="expected" x1="%.2f" x2="%.2f" y1="4" y2="22"><title>expected: %s</title></line>`, x(l.Expected), x(l.Expected), esc(percent(l.Expected)))
	d.addf(`<circle class="%s" cx="%.2f" cy="13" r="4.5"><title>found: %s</title></circle></svg>`, class, x(s.Share), esc(percent(s.Share)))
	return d.html()
}

// A row is a name with a bar beside it.
type row struct {
	Name, Note string
	Count      int64
	Share      float64
	Bar        template.HTML
}

// rows draws bars in proportion to the largest.
func rows(list []row) []row {
	most := int64(1)
	for _, r := range list {
		most = max(most, r.Count)
	}
	for i, r := range list {
		var d drawing
		d.addf(`<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="column" width="%.2f" height="10"/></svg>`,
			math.Max(100*float64(r.Count)/float64(most), 0.4))
		list[i].Bar = d.html()
	}
	return list
}

// shownTokens is how many of the most frequent tokens the page has room for.
const shownTokens = 40

// tokenBars returns the two columns of the table of tokens.
func tokenBars(r *survey.RecordStats) [][]row {
	var list []row
	for _, t := range r.Top[:min(len(r.Top), shownTokens)] {
		name := t.Token
		if name == "" {
			name = fmt.Sprintf("id %d", t.ID)
		}
		list = append(list, row{Name: name, Count: t.Count, Share: t.Share})
	}
	list = rows(list)
	half := (len(list) + 1) / 2
	return [][]row{list[:half], list[half:]}
}

func nameBars(names []survey.Name, total int64) []row {
	var list []row
	for _, n := range names {
		r := row{Name: n.Name, Count: n.Count}
		if total > 0 {
			r.Share = float64(n.Count) / float64(total)
		}
		if n.Bytes > 0 {
			r.Note = size(n.Bytes)
		}
		list = append(list, r)
	}
	return rows(list)
}
