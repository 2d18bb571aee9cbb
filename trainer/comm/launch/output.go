package launch

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"sync"
)

// An output merges the output of all ranks.
type output struct {
	stdout, stderr io.Writer

	mu     sync.Mutex
	recent []written // the last lines on stderr
	held   []string  // lines in which a rank reports the failure of another rank, for flush
	direct bool      // rank 0 writes to stderr directly, not line by line
	lines  map[int]*lines
}

func newOutput(stdout, stderr io.Writer) *output {
	return &output{stdout: stdout, stderr: stderr, lines: map[int]*lines{}}
}

// of returns stdout and stderr for a rank. If stderr is a terminal, rank 0 writes to it
// directly, so that it can show progress.
func (o *output) of(rank int) (stdout, stderr io.Writer) {
	l := &lines{output: o, rank: rank}
	o.lines[rank] = l
	if rank != 0 {
		return nil, l
	}
	if f, ok := o.stderr.(*os.File); ok && isTerminal(f) {
		o.direct = true
		return o.stdout, f
	}
	return o.stdout, l
}

// isTerminal reports whether a file is a character device, as terminals are.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// end writes the rank's last line if it has no line end.
func (o *output) end(rank int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lines[rank]
	if len(l.rest) > 0 {
		l.line(append(l.rest, '\n'))
		l.rest = nil
	}
}

// flush writes each held line about the failure of a rank once, unless that rank has
// written the error itself. rank0Failed means that rank 0 has ended with an error, which
// it has written to stderr.
func (o *output) flush(rank0Failed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, text := range o.held {
		message := culprit.ReplaceAllString(text, "")
		if o.direct && rank0Failed || slices.ContainsFunc(o.recent, func(w written) bool { return w.message == message }) {
			continue
		}
		o.recent = append(o.recent, written{message: message})
		io.WriteString(o.stderr, text)
	}
	o.held = nil
}

// A written is a line on stderr, without the text that culprit matches, and the rank that
// wrote it.
type written struct {
	message string
	rank    int
}

// culprit matches the prefix of the text of a comm.RankError, such as "rank 1 (host): ".
var culprit = regexp.MustCompile(`rank \d+ \([^)]*\): `)

// maxRecent is the maximum number of lines in output.recent, with which a new line is
// compared, and in output.held. When a rank fails, the ranks of a machine write fewer.
const maxRecent = 64

// maxLine is the maximum length of a line in bytes. A longer line is split.
const maxLine = 1 << 16

// lines is the writer for the stderr of one rank.
type lines struct {
	*output
	rank int
	rest []byte // the last line, which is not complete yet
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		i := bytes.IndexByte(l.rest, '\n')
		if i < 0 && len(l.rest) < maxLine {
			return len(b), nil
		}
		if i < 0 {
			i = len(l.rest) - 1
		}
		l.line(l.rest[:i+1])
		l.rest = l.rest[i+1:]
	}
}

// line writes a line, unless another rank has just written it.
func (l *lines) line(b []byte) {
	text, prefix := string(b), ""
	message := culprit.ReplaceAllString(text, "")
	if message != text && len(l.held) < maxRecent {
		l.held = append(l.held, text)
		return
	}
	for _, w := range l.recent {
		if w.message == message && w.rank != l.rank {
			return
		}
	}
	l.recent = append(l.recent, written{message, l.rank})
	if len(l.recent) > maxRecent {
		l.recent = l.recent[1:]
	}
	if l.rank != 0 {
		prefix = fmt.Sprintf("rank %d: ", l.rank)
	}
	io.WriteString(l.stderr, prefix+text)
}
