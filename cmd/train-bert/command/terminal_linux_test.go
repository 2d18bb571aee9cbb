package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pretext/trainer/session"
)

// openTerminal returns both ends of a pseudo-terminal of some columns.
func openTerminal(t *testing.T, columns int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: uint16(columns)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close(); slave.Close() })
	return master, slave
}

// On a terminal a run updates one line, whatever the width: no state of the bar
// wraps, and none is left behind. No colours are written.
func TestARunOnATerminalUpdatesOneLine(t *testing.T) {
	t.Setenv("TERM", "xterm")
	for _, columns := range []int{80, 60, 40} {
		master, slave := openTerminal(t, columns)
		o := testOptions(t)
		c := newConsole(slave)
		o.Log, o.Progress = c, func(p session.Progress) {
			c.bar(p)
			pause := unix.NsecToTimespec(int64(barInterval / 3))
			unix.Nanosleep(&pause, nil) // long enough for more than one state
		}
		if _, err := session.Train(context.Background(), o.Options); err != nil {
			t.Fatal(err)
		}
		c.clear()
		fmt.Fprintln(slave, "the end")
		var got bytes.Buffer
		for buf := make([]byte, 4096); !bytes.Contains(got.Bytes(), []byte("the end")); {
			n, err := master.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(buf[:n])
		}
		bars := 0
		for line := range strings.SplitSeq(got.String(), "\r\n") {
			parts := strings.Split(line, "\r\x1b[K")
			for i, part := range parts {
				if last := i == len(parts)-1; !last {
					if bars++; len(part) >= columns || !strings.Contains(part, " of 12") {
						t.Errorf("%d columns: bar %q of %d", columns, part, len(part))
					}
				} else if part != "" && !strings.HasPrefix(part, "train-bert: ") && part != "the end" {
					t.Errorf("%d columns: %q is left behind", columns, part)
				}
			}
		}
		if bars < 2 {
			t.Errorf("%d columns: %d states of the bar in %q", columns, bars, &got)
		}
		if colour := regexp.MustCompile(`\x1b\[[0-9;]*m`).FindString(got.String()); colour != "" {
			t.Errorf("%d columns: colour %q", columns, colour)
		}
	}
}
