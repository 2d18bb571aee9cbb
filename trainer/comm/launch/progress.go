package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// A Save is how far a rank has written a checkpoint.
type Save struct {
	Written, Total int64 // bytes; Total is approximate
	Done           bool  // the checkpoint is complete, or has failed
}

// progressVariable holds the file descriptor by which a rank reports to [Run], or
// noDescriptor where processes cannot inherit one.
const (
	progressVariable = "PRETEXT_PROGRESS_FD"
	noDescriptor     = "-"
)

// reportInterval is the minimum time between two reports of a checkpoint.
const reportInterval = 100 * time.Millisecond

// Reporter returns a function by which a rank tells the [Run] that started this process
// how far it has written a checkpoint. It returns nil if Run did not start it. The
// function must not be called by several goroutines at once.
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

// report returns a function that writes the first and the last report of a checkpoint,
// and some between. Errors are of no interest: without a launcher nobody waits.
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

// listen passes on the reports of a rank, until it has ended.
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
