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

// barInterval is the minimum time between two updates of the bar.
const barInterval = 200 * time.Millisecond

// Minimum and maximum width of the bar, in columns. If there is no room for leastBar,
// no bar is drawn.
const (
	leastBar = 10
	mostBar  = 30
)

// usualWidth is the assumed width of a terminal that does not report its own.
const usualWidth = 80

// A console writes to standard error. On a terminal its last line is a progress bar,
// which is removed before a line is written. It writes no colors.
type console struct {
	w     io.Writer
	width func() int // columns of the terminal; nil: not a terminal
	drawn time.Time  // time of the last update of the bar; zero: there is no bar
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

// Write writes one line, prefixed with the name of the program.
func (c *console) Write(b []byte) (int, error) {
	c.clear()
	line := cli.NameSettings(flagGroups)(cli.OneLine(strings.TrimSuffix(string(b), "\n")))
	_, err := fmt.Fprintf(c.w, "train-bert: %s\n", line)
	return len(b), err
}

// clear removes the bar.
func (c *console) clear() {
	if !c.drawn.IsZero() {
		io.WriteString(c.w, "\r\x1b[K")
		c.drawn = time.Time{}
	}
}

// bar draws the progress bar, at most once per barInterval.
func (c *console) bar(p session.Progress) {
	if c.width == nil || p.Last < 1 || time.Since(c.drawn) < barInterval {
		return
	}
	c.clear()
	io.WriteString(c.w, renderBar(p, c.width()))
	c.drawn = time.Now()
}

// renderBar returns the progress line for a terminal with the given number of columns. The
// line is shorter than the terminal is wide, because a full line makes some terminals wrap.
// On a narrow terminal it omits first the bar, then the loss, then the speed.
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
