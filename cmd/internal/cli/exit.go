package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"syscall"

	"pretext/internal/failure"
)

// Program names a program and may add advice to its errors.
type Program struct {
	Name   string // before every message
	Groups []Group

	// Advice, if not nil, returns the message to print for err, whose exit code is code.
	// It may add a hint to message, which is the default.
	Advice func(code int, err error, message string) string
}

// afterNumber matches the space between an exit code and its meaning.
var afterNumber = regexp.MustCompile(`(\d) `)

// ExitCodes returns the paragraph on exit codes for a program's help.
func ExitCodes() string {
	const width, together = 80, "\x00"
	text, column := "", 0
	for _, word := range strings.Fields("Exit codes: " + afterNumber.ReplaceAllString(failure.ExitCodes(), "$1"+together) + ".") {
		switch {
		case text == "":
		case column+1+len(word) > width:
			text, column = text+"\n", 0
		default:
			text, column = text+" ", column+1
		}
		text, column = text+word, column+len(word)
	}
	return strings.ReplaceAll(text, together, " ")
}

// withoutOperation removes the name of the failed system call from message, the text
// of err: "stat x: no such file or directory" becomes "x: no such file or directory".
func withoutOperation(err error, message string) string {
	var path *fs.PathError
	if !errors.As(err, &path) || failure.ExitCode(path) != failure.ExitUsage {
		return message
	}
	return strings.Replace(message, path.Error(), path.Path+": "+path.Err.Error()+pathCure(path.Path), 1)
}

// pathCure returns advice for a path that does not exist, if the mistake can be seen in
// the path; otherwise "".
func pathCure(path string) string {
	switch first, _, _ := strings.Cut(path, ","); {
	case strings.HasPrefix(path, "~"):
		return ": the shell replaces ~ only at the beginning of a word without quotes"
	case strings.Trim(path, `'"`) != path:
		return ": write it without the quotes"
	case os.PathSeparator == '/' && strings.Contains(path, `\`):
		return `: write / instead of \`
	case first != path && exists(first):
		return ": give each file with a flag of its own"
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Report writes err as one line, with advice if Advice has any, and returns the exit code
// of the process.
func (p Program) Report(stderr io.Writer, err error) int {
	if err == nil {
		return failure.ExitOK
	}
	code := failure.ExitCode(err)
	message := withoutOperation(err, strings.TrimSpace(err.Error()))
	switch code {
	case failure.ExitInterrupted:
		message = "interrupted: run the same command again to resume"
	case failure.ExitUsage:
		message += " (see --help)"
	case failure.ExitDiskFull:
		message += ": free some space and run the same command again"
	}
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		message += ": allow more open files (ulimit -n)"
	}
	if p.Advice != nil {
		message = p.Advice(code, err, message)
	}
	fmt.Fprintf(stderr, "%s: %s\n", p.Name, NameSettings(p.Groups)(OneLine(message)))
	return code
}
