package command

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pretext/pipeline/stage"

	"golang.org/x/sys/unix"
)

// A progress bar is never wider than its terminal: then each update would leave a
// line behind.
func TestBarsDoNotWrap(t *testing.T) {
	for _, columns := range []int{40, 60, 80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) { barFits(t, columns) })
	}
}

func barFits(t *testing.T, columns int) {
	t.Parallel()
	terminal, screen := openTerminal(t, uint16(columns))
	m := &stage.Meter{Stage: "signatures", Total: 1e12}
	m.Add(1e9)
	stop := showBar(terminal, m)
	time.Sleep(1300 * time.Millisecond) // the rate is shown after a second
	stop()
	terminal.Close()
	longest := ""
	for line := range strings.FieldsFuncSeq(escapes.ReplaceAllString(screen(), "\n"), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if strings.Contains(line, "signatures") && utf8.RuneCountInString(line) > utf8.RuneCountInString(longest) {
			longest = line
		}
	}
	if n := utf8.RuneCountInString(longest); n == 0 || n > columns {
		t.Errorf("a line of %d: %q", n, longest)
	}
	if columns >= 80 && !howFast.MatchString(longest) {
		t.Errorf("%q does not say how fast and how long", longest)
	}
}

// howFast matches a rate, the time since the start and the time that is left.
var howFast = regexp.MustCompile(`/s, \d+s elapsed, .* left`)

// escapes matches the escape sequences that move the cursor.
var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// openTerminal returns a terminal with a number of columns, and a function that
// closes it and returns what was written to it.
func openTerminal(t *testing.T, columns uint16) (*os.File, func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil && os.Getenv("CI") == "" {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	read := make(chan string, 1)
	go func() {
		var all bytes.Buffer
		all.ReadFrom(master) // ends with an error when the terminal is closed
		read <- all.String()
	}()
	return terminal, func() string { return <-read }
}
