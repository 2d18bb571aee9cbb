package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// A Save is the progress of a rank in writing a checkpoint.
type Save struct {
	Written, Total int64 // bytes; Total is approximate
	Done           bool  // the checkpoint is complete, or has failed
}

// progressVariable names the environment variable with the file descriptor on which a
// rank reports to [Run]. Its value is noDescriptor on systems where processes cannot
// inherit a descriptor.
const (
	progressVariable = "PRETEXT_PROGRESS_FD"
	noDescriptor     = "-"
)

// reportInterval is the minimum time between two reports of a checkpoint.
const reportInterval = 100 * time.Millisecond

// Reporter returns a function with which this process, a rank started by [Run], reports
// the progress of writing a checkpoint to Run. It returns nil if Run did not start this
// process. The function must not be called by several goroutines at once.
func Reporter(getenv func(string) string) func(Save) {
	value := getenv(progressVariable)
	if value == "" {
		return nil
	}
	fd, err := strconv.Atoi(value)
	if err != nil {
		return func(Save) {}
	}
	keepToSelf(fd)
	return report(os.NewFile(uintptr(fd), "progress"))
}

// report returns a function that writes the first and the last report of a checkpoint, and
// at most one per reportInterval between them. Write errors are ignored: if the launcher
// has ended, no process waits for the checkpoint.
func report(w io.Writer) func(Save) {
	var last time.Time
	saving := false
	return func(s Save) {
		if saving && !s.Done && time.Since(last) < reportInterval {
			return
		}
		saving, last = !s.Done, time.Now()
		fmt.Fprintf(w, "%d %d %t\n", s.Written, s.Total, s.Done)
	}
}

// A rankSave is a report of a rank.
type rankSave struct {
	rank int
	Save
}

// listen sends the reports of a rank to l.saves, until the rank has ended.
func (l *launcher) listen(rank int, from io.ReadCloser) {
	defer from.Close()
	for lines := bufio.NewScanner(from); lines.Scan(); {
		var s Save
		if n, err := fmt.Sscan(lines.Text(), &s.Written, &s.Total, &s.Done); n != 3 || err != nil {
			continue
		}
		select {
		case l.saves <- rankSave{rank, s}:
		case <-l.stop:
			return
		}
	}
}
