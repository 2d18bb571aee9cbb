package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// barInterval is the time between two states of the bar.
const barInterval = 200 * time.Millisecond

// barWidth is the number of its places.
const barWidth = 30

// A console is standard error. On a terminal its last line is a progress bar,
// which makes room for every line that is written.
type console struct {
	w        io.Writer
	terminal bool
	drawn    time.Time // when the bar was, zero: it is not there
}

func newConsole(w io.Writer) *console {
	f, ok := w.(*os.File)
	return &console{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Write writes lines.
func (c *console) Write(b []byte) (int, error) {
	c.clear()
	return c.w.Write(b)
}

// clear takes the bar away.
func (c *console) clear() {
	if !c.drawn.IsZero() {
		io.WriteString(c.w, "\r\x1b[K")
		c.drawn = time.Time{}
	}
}

// bar draws the state of a run, unless it was just drawn.
func (c *console) bar(done, last int64, text string) {
	if !c.terminal || last < 1 || time.Since(c.drawn) < barInterval {
		return
	}
	c.clear()
	full := int(barWidth * done / last)
	fmt.Fprintf(c.w, "[%s%s] %d of %d, %s", strings.Repeat("=", full), strings.Repeat(" ", barWidth-full), done, last, text)
	c.drawn = time.Now()
}
