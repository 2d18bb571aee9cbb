package session

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"

	"pretext/internal/humanize"
	"pretext/internal/plot"
	"pretext/internal/store"
)

// A point is the loss at one step.
type point struct {
	step int64
	loss float64
}

// A Curve is the loss of a run over its steps.
type Curve struct {
	train []point // sum of the masked-LM and the next-sentence loss
	evals []point // the same sum, of evaluations
	floor float64 // loss of the unigram baseline; with coin plus ln 2, the next-sentence loss of a random guess; 0: unknown
	coin  bool    // the loss includes the next-sentence loss
}

// ReadCurve reads the metrics of a run: its [MetricsFile].
func ReadCurve(path string) (*Curve, error) {
	f, err := store.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &Curve{}
	err = eachMetric(f, func(_ []byte, m metric) error {
		if m.Loss != nil && !m.Skipped {
			c.train = append(c.train, point{m.Step, *m.Loss})
		}
		if m.EvalLoss != nil {
			c.evals = append(c.evals, point{m.Step, *m.EvalLoss})
			if m.UnigramLoss > 0 { // the run is a pre-training
				c.floor = m.UnigramLoss
				if c.coin = m.EvalNSPLoss != nil; c.coin {
					c.floor += math.Ln2
				}
			}
		}
		return nil
	})
	return c, err
}

// endSteps is the number of steps over which the first and the last loss are
// averaged.
const endSteps = 10

// ends returns the mean loss of the first and of the last endSteps steps.
func (c *Curve) ends() (first, last float64) {
	n := min(endSteps, len(c.train))
	return mean(c.train[:n]), mean(c.train[len(c.train)-n:])
}

func mean(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.loss
	}
	return Fraction(sum, float64(len(points)))
}

// smoothSteps is the number of steps in the window of the moving mean.
const smoothSteps = 20

func smooth(points []point) (out []point) {
	for i, p := range points {
		out = append(out, point{p.step, mean(points[max(0, i+1-smoothSteps) : i+1])})
	}
	return out
}

// chart draws the curve.
func (c *Curve) chart() template.HTML {
	chart := plot.Chart{Name: "loss by step", X: "step", Y: "loss, nats", Lines: []plot.Line{
		{Name: "each step", Look: plot.Thin, Points: plotted(c.train)},
		{Name: fmt.Sprintf("mean of the last %d", smoothSteps), Look: plot.Strong, Points: plotted(smooth(c.train))},
	}}
	if len(c.evals) > 0 {
		chart.Lines = append(chart.Lines, plot.Line{Name: "held-out examples", Look: plot.Marked, Points: plotted(c.evals)})
	}
	if c.floor > 0 {
		last := 1.0
		for _, p := range append(c.evals[len(c.evals)-1:], c.train[max(0, len(c.train)-1):]...) {
			last = max(last, float64(p.step))
		}
		chart.Lines = append(chart.Lines, plot.Line{Name: c.baseline(), Look: plot.Dashed, Points: []plot.Point{{X: 0, Y: c.floor}, {X: last, Y: c.floor}}})
	}
	return chart.SVG()
}

// baseline names the model whose loss is c.floor.
func (c *Curve) baseline() string {
	if c.coin {
		return "unigram model and a coin"
	}
	return "unigram model"
}

func plotted(points []point) (list []plot.Point) {
	for _, p := range points {
		list = append(list, plot.Point{X: float64(p.step), Y: p.loss})
	}
	return list
}

// SVG returns the curve as an SVG file.
func (c *Curve) SVG() []byte { return plot.File(c.chart()) }

//go:embed curve.html
var curvePage string

// HTML returns the curve as a page without external files.
func (c *Curve) HTML() []byte {
	page := template.Must(template.New("curve").Parse(curvePage))
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{"Style": template.CSS(plot.Style), "Chart": c.chart(), "Ends": c.sentence(), "Floor": c.floor > 0, "Baseline": c.baseline()})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Bytes()
}

// sentence summarizes the curve.
func (c *Curve) sentence() string {
	if len(c.train) == 0 {
		return "No step has been made yet."
	}
	first, last := c.ends()
	text := fmt.Sprintf("%s: loss %.3f at first, %.3f at last (means of up to %d steps).", humanize.Things(int64(len(c.train)), "step"), first, last, endSteps)
	if n := len(c.evals); n > 0 {
		text += fmt.Sprintf(" On held-out examples %.3f after step %s.", c.evals[n-1].loss, humanize.Count(c.evals[n-1].step))
	}
	if c.floor > 0 {
		reach := "reaches"
		if c.coin {
			reach = "reach"
		}
		text += fmt.Sprintf(" A %s %s %.3f there.", c.baseline(), reach, c.floor)
	}
	return text
}
