package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// colorMode is the flag --color.
type colorMode string

var colorModes = []string{"auto", "always", "never"}

func (c *colorMode) Set(s string) error {
	if !slices.Contains(colorModes, s) {
		return fmt.Errorf("must be one of %s", strings.Join(colorModes, ", "))
	}
	*c = colorMode(s)
	return nil
}

func (c *colorMode) Type() string   { return "when" }
func (c *colorMode) String() string { return string(*c) }

// colors reports whether to write colors to w. With "auto" it returns true for a
// terminal, unless NO_COLOR is set (https://no-color.org) or TERM is "dumb".
func (c colorMode) colors(w io.Writer, getenv func(string) string) bool {
	if c != "auto" {
		return c == "always"
	}
	return getenv("NO_COLOR") == "" && getenv("TERM") != "dumb" && isTerminal(w)
}

// isTerminal reports whether w writes to a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
