package command

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"pretext/internal/humanize"
	"pretext/internal/plot"
)

// A point is a loss after a step.
type point struct {
	step int64
	loss float64
}

// A curve is the loss of a run over its steps.
type curve struct {
	train []point // masked LM and next sentence together
	held  []point // likewise, of evaluations
	floor float64 // unigram baseline and a coin's next-sentence loss, 0: unknown
}

// readCurve reads the metrics of a run.
func readCurve(path string) (*curve, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c := &curve{}
	err = eachMetric(f, func(_ []byte, m metric) error {
		if m.Loss != nil && !m.Skipped {
			c.train = append(c.train, point{m.Step, *m.Loss})
		}
		if m.EvalLoss != nil {
			c.held = append(c.held, point{m.Step, *m.EvalLoss})
			if m.UnigramLoss > 0 { // of pre-training
				c.floor = m.UnigramLoss + math.Ln2
			}
		}
		return nil
	})
	return c, err
}

// endSteps is how many steps the first and the last loss are the mean of.
const endSteps = 10

// ends returns the mean loss of the first and of the last steps.
func (c *curve) ends() (first, last float64) {
	n := min(endSteps, len(c.train))
	return mean(c.train[:n]), mean(c.train[len(c.train)-n:])
}

func mean(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.loss
	}
	return share(sum, float64(len(points)))
}

// smoothSteps is the window of the moving mean.
const smoothSteps = 20

func smooth(points []point) (out []point) {
	for i, p := range points {
		out = append(out, point{p.step, mean(points[max(0, i+1-smoothSteps) : i+1])})
	}
	return out
}

// chart is the curve as a drawing.
func (c *curve) chart() template.HTML {
	chart := plot.Chart{Name: "loss by step", X: "step", Y: "loss, nats", Lines: []plot.Line{
		{Name: "each step", Look: plot.Thin, Points: plotted(c.train)},
		{Name: fmt.Sprintf("mean of the last %d", smoothSteps), Look: plot.Strong, Points: plotted(smooth(c.train))},
	}}
	if len(c.held) > 0 {
		chart.Lines = append(chart.Lines, plot.Line{Name: "held-out examples", Look: plot.Marked, Points: plotted(c.held)})
	}
	if c.floor > 0 {
		last := 1.0
		for _, p := range append(c.held[len(c.held)-1:], c.train[max(0, len(c.train)-1):]...) {
			last = max(last, float64(p.step))
		}
		chart.Lines = append(chart.Lines, plot.Line{Name: "unigram model and a coin", Look: plot.Dashed, Points: []plot.Point{{X: 0, Y: c.floor}, {X: last, Y: c.floor}}})
	}
	return chart.SVG()
}

func plotted(points []point) (list []plot.Point) {
	for _, p := range points {
		list = append(list, plot.Point{X: float64(p.step), Y: p.loss})
	}
	return list
}

// svg is the curve as a file.
func (c *curve) svg() []byte { return plot.File(c.chart()) }

//go:embed curve.html
var curvePage string

// html is the curve as a page that loads nothing.
func (c *curve) html() []byte {
	page := template.Must(template.New("curve").Parse(curvePage))
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{"Style": template.CSS(plot.Style), "Chart": c.chart(), "Ends": c.sentence(), "Floor": c.floor > 0})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Bytes()
}

// sentence sums the curve up.
func (c *curve) sentence() string {
	if len(c.train) == 0 {
		return "No step has been made yet."
	}
	first, last := c.ends()
	text := fmt.Sprintf("%s: loss %.3f at first, %.3f at last (means of up to %d steps).", humanize.Things(int64(len(c.train)), "step"), first, last, endSteps)
	if n := len(c.held); n > 0 {
		text += fmt.Sprintf(" On held-out examples %.3f after step %s.", c.held[n-1].loss, humanize.Count(c.held[n-1].step))
	}
	if c.floor > 0 {
		text += fmt.Sprintf(" A unigram model and a coin reach %.3f there.", c.floor)
	}
	return text
}

func newCurve() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "curve RUN --out FILE",
		Short: "Draw the loss of a run, as SVG or as a page",
		Long: `Draws the loss of a run by step from its metrics.jsonl: each step, their moving mean,
the held-out examples and the unigram baseline. FILE ends in .svg or .html; it loads
nothing and follows the reader's light or dark setting.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			draw := (*curve).svg
			switch filepath.Ext(out) {
			case ".svg":
			case ".html":
				draw = (*curve).html
			default:
				return usagef("--out %q: must end in .svg or .html", out)
			}
			c, err := readCurve(filepath.Join(args[0], metricsFile))
			if err != nil {
				return err
			}
			return os.WriteFile(out, draw(c), 0o666)
		},
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (required)")
	return cmd
}
