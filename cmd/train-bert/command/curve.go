package command

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
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

// Size of the drawing and of the space around it, in its own units.
const (
	curveWidth  = 900
	curveHeight = 420
	curveMargin = 50
)

// drawing is the curve as a picture.
var drawing = template.Must(template.New("drawing").Parse(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" width="100%" role="img" aria-label="loss by step">
<style>text{font:12px sans-serif;fill:#444}</style>
<rect width="{{.Width}}" height="{{.Height}}" fill="#fff"/>
{{range .Ticks}}<line x1="{{.X1}}" y1="{{.Y1}}" x2="{{.X2}}" y2="{{.Y2}}" stroke="#ddd"/><text x="{{.X}}" y="{{.Y}}" text-anchor="{{.Anchor}}">{{.Text}}</text>
{{end}}{{if .Floor}}<line x1="{{.Left}}" y1="{{.Floor}}" x2="{{.Right}}" y2="{{.Floor}}" stroke="#999" stroke-dasharray="6 4"/>
{{end}}<polyline points="{{.Steps}}" fill="none" stroke="#9bc" stroke-width="1"/>
<polyline points="{{.Smooth}}" fill="none" stroke="#047" stroke-width="2.5"/>
<polyline points="{{.Held}}" fill="none" stroke="#c40" stroke-width="2.5"/>
</svg>
`))

// page holds the curve as one file that needs no other.
var page = template.Must(template.New("curve").Parse(`<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>train-bert: loss</title>
<style>body{font:15px sans-serif;margin:2em;max-width:60em}</style>
<h1>Loss by step</h1>
{{.Drawing}}<p><span style="color:#9bc">light: each step</span>, <span style="color:#047">dark: mean of the last {{.Window}}</span>,
<span style="color:#c40">red: held-out examples</span>{{if .Floor}}, dashed: the unigram baseline and a coin on the held-out examples{{end}}.
Masked-LM and next-sentence loss in nats, added.</p>
</html>
`))

// A tick is a line of the grid with its number.
type tick struct {
	X1, Y1, X2, Y2, X, Y int
	Anchor, Text         string
}

// frame maps steps and losses to places of the drawing.
type frame struct {
	steps  float64
	lo, hi float64
	y, x   float64 // length of the axes
}

func (c *curve) frame() frame {
	f := frame{steps: 1, lo: math.Inf(1), hi: math.Inf(-1), x: curveWidth - 2*curveMargin, y: curveHeight - 2*curveMargin}
	for _, p := range append(append([]point{}, c.train...), c.held...) {
		f.steps = max(f.steps, float64(p.step))
		f.lo, f.hi = min(f.lo, p.loss), max(f.hi, p.loss)
	}
	if c.floor > 0 {
		f.lo, f.hi = min(f.lo, c.floor), max(f.hi, c.floor)
	}
	if !(f.hi > f.lo) {
		f.lo, f.hi = 0, max(1, f.hi)
	}
	return f
}

func (f frame) px(step int64) int { return curveMargin + int(f.x*float64(step)/f.steps) }

func (f frame) py(loss float64) int {
	return curveMargin + int(math.Round(f.y*(f.hi-loss)/(f.hi-f.lo)))
}

func (f frame) line(points []point) string {
	var b strings.Builder
	for _, p := range points {
		fmt.Fprintf(&b, "%d,%d ", f.px(p.step), f.py(p.loss))
	}
	return strings.TrimSpace(b.String())
}

// gridLines is the number of parts that each axis is divided into.
const gridLines = 5

func (f frame) ticks() (ticks []tick) {
	for i := range gridLines + 1 {
		part := float64(i) / gridLines
		loss := f.lo + part*(f.hi-f.lo)
		y := f.py(loss)
		ticks = append(ticks, tick{curveMargin, y, curveWidth - curveMargin, y, curveMargin - 6, y + 4, "end", fmt.Sprintf("%.2f", loss)})
		step := int64(math.Round(part * f.steps))
		x := f.px(step)
		ticks = append(ticks, tick{x, curveMargin, x, curveHeight - curveMargin, x, curveHeight - curveMargin + 18, "middle", fmt.Sprint(step)})
	}
	return ticks
}

// smoothSteps is the window of the moving mean.
const smoothSteps = 20

func smooth(points []point) (out []point) {
	for i, p := range points {
		out = append(out, point{p.step, mean(points[max(0, i+1-smoothSteps) : i+1])})
	}
	return out
}

// svg draws the curve.
func (c *curve) svg() []byte {
	f := c.frame()
	floor := 0
	if c.floor > 0 {
		floor = f.py(c.floor)
	}
	return fill(drawing, map[string]any{
		"Width": curveWidth, "Height": curveHeight, "Left": curveMargin, "Right": curveWidth - curveMargin,
		"Ticks": f.ticks(), "Floor": floor, "Steps": f.line(c.train), "Smooth": f.line(smooth(c.train)), "Held": f.line(c.held),
	})
}

// html is a page with the curve and what its lines are.
func (c *curve) html() []byte {
	return fill(page, map[string]any{"Drawing": template.HTML(c.svg()), "Window": smoothSteps, "Floor": c.floor > 0})
}

func fill(t *template.Template, values map[string]any) []byte {
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		panic("BUG: " + err.Error())
	}
	return b.Bytes()
}

func newCurve() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "curve RUN --out FILE",
		Short: "Draw the loss of a run, as SVG or as a page",
		Args:  cobra.ExactArgs(1),
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
