package plot_test

import (
	"encoding/xml"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pretext/internal/plot"
)

// element is an element of a drawing with the text inside it.
type element struct {
	name string
	attr map[string]string
	text string
}

func (e element) number(t *testing.T, key string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attr[key], 64)
	if err != nil {
		t.Fatalf("<%s %s=%q>: not a number", e.name, key, e.attr[key])
	}
	return v
}

// parse reads a drawing, which must be well-formed XML, and where a number must be
// has neither NaN nor infinity.
func parse(t *testing.T, svg template.HTML) (all []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("<%s %s=%q>", e.name, a.Name.Local, a.Value)
				}
				e.attr[a.Name.Local] = a.Value
			}
			all = append(all, e)
		case xml.CharData:
			if len(all) > 0 {
				all[len(all)-1].text += strings.TrimSpace(string(token))
			}
		}
	}
}

func class(all []element, name string) (list []element) {
	for _, e := range all {
		if slices.Contains(strings.Fields(e.attr["class"]), name) {
			list = append(list, e)
		}
	}
	return list
}

// round reports whether v is 1, 2 or 5 times a power of ten, times a whole number
// below most.
func roundStep(step float64) bool {
	m := step / math.Pow(10, math.Floor(math.Log10(step)+1e-9))
	return math.Abs(m-1) < 1e-6 || math.Abs(m-2) < 1e-6 || math.Abs(m-5) < 1e-6
}

func FuzzTicksAreRoundAndInside(f *testing.F) {
	for _, r := range [][2]float64{{0, 1}, {0, 3926}, {2.51, 8.43}, {-3, 7}, {1e15, 1e15 + 0.25}, {0, 5e-324}, {-1e308, 1e308}, {0.999, 1.001}, {0, math.Inf(1)}, {5, 5}} {
		f.Add(r[0], r[1], 7)
	}
	f.Fuzz(func(t *testing.T, lo, hi float64, most int) {
		most = min(most, 50)
		ticks := plot.Ticks(lo, hi, most)
		if len(ticks) > max(most, 0) {
			t.Fatalf("%g to %g: got %d ticks, want at most %d", lo, hi, len(ticks), most)
		}
		for i, v := range ticks {
			if slack := (hi - lo) * 1e-6; !(v >= lo-slack && v <= hi+slack) {
				t.Errorf("%g to %g: tick %g is outside", lo, hi, v)
			}
			if i > 0 && !(v > ticks[i-1]) {
				t.Errorf("%g to %g: %g follows %g", lo, hi, v, ticks[i-1])
			}
		}
		if n := len(ticks); n > 1 {
			if step := (ticks[n-1] - ticks[0]) / float64(n-1); hi-lo > 1e-6*max(math.Abs(lo), math.Abs(hi)) && !roundStep(step) {
				t.Errorf("%g to %g: the step %g is not round", lo, hi, step)
			}
		}
	})
}

func TestTicksAreThoseThatAPersonWouldChoose(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		most   int
		want   []float64
	}{
		{0, 3926, 5, []float64{0, 1000, 2000, 3000}},
		{0, 128, 7, []float64{0, 20, 40, 60, 80, 100, 120}},
		{2.51, 8.43, 7, []float64{3, 4, 5, 6, 7, 8}},
		{0, 1, 5, []float64{0, 0.5, 1}},
		{-0.03, 0.05, 5, []float64{-0.02, 0, 0.02, 0.04}},
	} {
		got := plot.Ticks(c.lo, c.hi, c.most)
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%g to %g: got %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
}

func histogram(widths ...float64) plot.Histogram {
	h := plot.Histogram{Name: `name <&"`, X: "title of x", Y: "title of y"}
	at := 0.0
	for i, w := range widths {
		h.Bars = append(h.Bars, plot.Bar{From: at, To: at + w, N: int64(1000 * (i + 1)), Title: "a bar"})
		at += w
	}
	return h
}

// logarithmic counts sizes by powers of two.
func logarithmic(from, to float64) plot.Histogram {
	h := plot.Histogram{X: "x", Y: "y", Log: true, Unit: plot.Bytes}
	for v := from; v < to; v *= 2 {
		h.Bars = append(h.Bars, plot.Bar{From: v, To: 2 * v, N: 3})
	}
	return h
}

func chart() plot.Chart {
	c := plot.Chart{Name: "name", X: "title of x", Y: "title of y", Lines: []plot.Line{{Name: "values", Look: plot.Thin}, {Name: "mean <of> them", Look: plot.Strong},
		{Name: "held-out examples", Look: plot.Marked}, {Name: "the unigram baseline and a coin", Look: plot.Dashed}}}
	for i := range 123456 {
		p := plot.Point{X: float64(i), Y: 10 - math.Log1p(float64(i)) + 0.5*math.Sin(float64(i))}
		c.Lines[0].Points = append(c.Lines[0].Points, p)
		if i%20000 == 0 {
			c.Lines[2].Points = append(c.Lines[2].Points, p)
		}
	}
	c.Lines[3].Points = []plot.Point{{0, 6.6}, {123456, 6.6}}
	return c
}

func drawings() map[string]template.HTML {
	return map[string]template.HTML{
		"histogram":    histogram(1, 1, 1, 1, 1).SVG(),
		"many bars":    histogram(slices.Repeat([]float64{7}, 129)...).SVG(),
		"sizes":        logarithmic(512, 1<<15).SVG(),
		"many sizes":   logarithmic(1, 1<<40).SVG(),
		"chart":        chart().SVG(),
		"no lines":     plot.Chart{X: "x", Y: "y"}.SVG(),
		"one point":    plot.Chart{X: "x", Y: "y", Lines: []plot.Line{{Name: "a", Points: []plot.Point{{1, 2}}}}}.SVG(),
		"flat":         plot.Chart{X: "x", Y: "y", Lines: []plot.Line{{Name: "a", Points: []plot.Point{{1, 0}, {2, 0}}}}}.SVG(),
		"not a number": plot.Chart{X: "x", Y: "y", Lines: []plot.Line{{Name: "a", Points: []plot.Point{{1, math.NaN()}, {2, math.Inf(1)}, {3, 1}}}}}.SVG(),
	}
}

// What is read at 390 pixels has a viewBox and no size of its own.
func TestDrawingsFitWhatHoldsThem(t *testing.T) {
	for name, svg := range drawings() {
		all := parse(t, svg)
		var left, top, width, height float64
		if n, _ := fmt.Sscan(all[0].attr["viewBox"], &left, &top, &width, &height); n != 4 || all[0].attr["width"] != "" || all[0].attr["height"] != "" {
			t.Errorf("%s: got %v", name, all[0].attr)
		}
		for _, e := range all {
			if e.name != "text" {
				continue
			}
			x, y := e.number(t, "x"), e.number(t, "y")
			half := 3.25 * float64(len([]rune(e.text))) // of 12 pixels high characters
			switch {
			case strings.Contains(e.attr["class"], "key"):
				x += half
			case strings.Contains(e.attr["class"], "y"):
				x -= half
			case e.attr["transform"] != "":
				half = 6
			}
			if x-half < 0 || x+half > width || y < 8 || y > height-2 {
				t.Errorf("%s: %q at %g, %g leaves the drawing, %g by %g", name, e.text, x, y, width, height)
			}
		}
	}
}

func TestAxesHaveTitlesAndLabelsThatDoNotOverlap(t *testing.T) {
	for name, svg := range drawings() {
		all := parse(t, svg)
		if n := len(class(all, "axis")); n != 2 {
			t.Errorf("%s: got %d titles of axes, want 2", name, n)
		}
		labels := class(all, "x")
		if len(labels) < 2 || len(class(all, "y")) < 2 {
			t.Errorf("%s: got %d and %d labels, want the axes to be readable", name, len(labels), len(class(all, "y")))
		}
		end := math.Inf(-1)
		for _, e := range labels {
			half := 3.8 * float64(len([]rune(e.text))) // of 14 pixels high characters, as on narrow screens
			if x := e.number(t, "x"); x-half < end {
				t.Errorf("%s: %s begins at %.0f, the label before it ends at %.0f", name, e.text, x-half, end)
			} else {
				end = x + half
			}
		}
		end = 0
		for _, e := range class(all, "key") {
			if x := e.number(t, "x"); x < end && e.number(t, "y") == class(all, "key")[0].number(t, "y") {
				t.Errorf("%s: the legend's %q begins at %.0f, the entry before it ends at %.0f", name, e.text, x, end)
			} else {
				end = x + 9*float64(len([]rune(e.text)))
			}
		}
	}
}

func TestBarsAreInProportion(t *testing.T) {
	widths := slices.Repeat([]float64{1}, 20)
	widths[1] = 2
	bars := class(parse(t, histogram(widths...).SVG()), "column")
	if len(bars) != 20 {
		t.Fatalf("got %d bars", len(bars))
	}
	for i, b := range bars {
		if got, want := b.number(t, "height")/bars[0].number(t, "height"), float64(i+1); math.Abs(got-want) > 0.01 {
			t.Errorf("bar %d: got %g times the first, want %g", i, got, want)
		}
	}
	if wide, narrow := bars[1].number(t, "width"), bars[0].number(t, "width"); wide < 1.9*narrow {
		t.Errorf("got widths %g and %g", wide, narrow)
	}
}

// The highest bar ends in the last step of the y axis, which has few labels.
func TestTheHighestBarNearlyFillsTheHeight(t *testing.T) {
	for _, most := range []int64{1, 2, 3, 7, 10, 11, 99, 123, 2500, 1_000_001, 9_999_999} {
		all := parse(t, plot.Histogram{Bars: []plot.Bar{{From: 0, To: 1, N: most}}}.SVG())
		labels, bar := class(all, "y"), class(all, "column")[0].number(t, "height")
		if len(labels) < 3 || len(labels) > 6 {
			t.Errorf("%d: %d labels", most, len(labels))
			continue
		}
		bottom, top := labels[0].number(t, "y"), labels[len(labels)-1].number(t, "y")
		height := math.Abs(bottom - top)
		if step := height / float64(len(labels)-1); bar > height+0.01 || bar < height-step-0.01 {
			t.Errorf("%d: the bar is %.1f high, the axis %.1f in steps of %.1f", most, bar, height, step)
		}
	}
}

func TestFilledCountsBarsThatAreNotEmpty(t *testing.T) {
	h := histogram(1, 1, 1)
	h.Bars[0].N, h.Bars[2].N = 0, 0
	if n, last := h.Filled(); n != 1 || last != h.Bars[1] {
		t.Errorf("got %d, %v", n, last)
	}
}

// A run of a million steps is no file of megabytes, and loses neither its peaks nor
// its ends.
func TestLongLinesAreThinned(t *testing.T) {
	c := chart()
	c.Lines[0].Points[50000].Y = 20
	svg := c.SVG()
	if len(svg) > 40_000 {
		t.Errorf("got %d bytes", len(svg))
	}
	peak := math.Inf(1)
	for _, e := range parse(t, svg) {
		if e.name == "polyline" {
			for _, p := range strings.Fields(e.attr["points"]) {
				_, y, _ := strings.Cut(p, ",")
				v, err := strconv.ParseFloat(y, 64)
				if err != nil {
					t.Fatal(err)
				}
				peak = min(peak, v)
			}
		}
	}
	if highest := class(parse(t, svg), "y"); peak > highest[len(highest)-1].number(t, "y") {
		t.Errorf("the peak of 20 is drawn at %g, below the label %s", peak, highest[len(highest)-1].text)
	}
}

func TestAFileIsWholeInItself(t *testing.T) {
	file := string(plot.File(chart().SVG()))
	if !strings.HasPrefix(file, `<svg xmlns="http://www.w3.org/2000/svg" class="chart wide"`) {
		t.Errorf("got %.80s", file)
	}
	parse(t, template.HTML(file))
	for _, want := range []string{"prefers-color-scheme: dark", "@media print", `<rect class="paper"`} {
		if !strings.Contains(file, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, bad := range []string{"url(", "@import", "href"} {
		if strings.Contains(file, bad) {
			t.Errorf("the file holds %q", bad)
		}
	}
}

func TestABandShowsAValueOutsideOfIt(t *testing.T) {
	b := plot.Band{Value: 0.7, Low: 0.79, High: 0.81, Expected: 0.8, Format: func(v float64) string { return fmt.Sprint(v) }}
	all := parse(t, b.SVG())
	point, allowed := class(all, "odd"), class(all, "allowed")
	if len(point) != 1 || len(allowed) != 1 || point[0].number(t, "cx") >= allowed[0].number(t, "x") {
		t.Errorf("got %v and %v", point, allowed)
	}
}

func ExampleHistogram() {
	h := plot.Histogram{X: "tokens", Y: "examples", Bars: []plot.Bar{{From: 0, To: 10, N: 3}, {From: 10, To: 20, N: 5}}}
	fmt.Println(strings.Count(string(h.SVG()), `class="column"`), "bars")
	// Output: 2 bars
}
