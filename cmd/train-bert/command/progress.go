package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/trainer/session"
)

// barInterval is the time between two states of the bar.
const barInterval = 200 * time.Millisecond

// Width of the bar itself; where there is no room for the least of it, there is
// none.
const (
	leastBar = 10
	mostBar  = 30
)

// usualWidth is the width of a terminal that does not tell its own.
const usualWidth = 80

// A console is standard error. On a terminal its last line is a progress bar,
// which makes room for every line that is written. It writes no colours.
type console struct {
	w     io.Writer
	width func() int // columns of the terminal; nil: it is none
	drawn time.Time  // when the bar was, zero: it is not there
}

func newConsole(w io.Writer) *console {
	c := &console{w: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		c.width = func() int {
			if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
				return width
			}
			return usualWidth
		}
	}
	return c
}

// Write writes one line behind the name of the program.
func (c *console) Write(b []byte) (int, error) {
	c.clear()
	line := cli.OneLine(strings.TrimSuffix(string(b), "\n"))
	_, err := fmt.Fprintf(c.w, "train-bert: %s\n", line)
	return len(b), err
}

// clear takes the bar away.
func (c *console) clear() {
	if !c.drawn.IsZero() {
		io.WriteString(c.w, "\r\x1b[K")
		c.drawn = time.Time{}
	}
}

// bar draws the state of a run, unless it was just drawn.
func (c *console) bar(p session.Progress) {
	if c.width == nil || p.Last < 1 || time.Since(c.drawn) < barInterval {
		return
	}
	c.clear()
	io.WriteString(c.w, renderBar(p, c.width()))
	c.drawn = time.Now()
}

// renderBar returns the bar for a terminal of some columns. It takes fewer than
// these, since a full line makes some terminals begin the next. As columns become
// fewer, the bar goes first, then the loss, then the speed.
func renderBar(p session.Progress, columns int) string {
	room := max(0, columns-1)
	steps := fmt.Sprintf("step %s of %s", humanize.Count(p.Step), humanize.Count(p.Last))
	loss := fmt.Sprintf("loss %.3f", p.Loss)
	speed := humanize.Count(int64(p.Speed)) + " tokens/s"
	left := "about " + humanize.Duration(p.Left.Round(time.Second)) + " left"
	for _, parts := range [][]string{{steps, loss, speed, left}, {steps, speed, left}, {steps, left}, {steps}} {
		text := strings.Join(parts, ", ")
		if len(text) > room {
			continue
		}
		if width := min(mostBar, room-len(text)-len("[] ")); width >= leastBar && len(parts) == 4 {
			full := int(int64(width) * min(p.Step, p.Last) / p.Last)
			return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "] " + text
		}
		return text
	}
	return steps[:room]
}
