package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"pretext/internal/redact"
)

// OneLine puts a message on one line, makes control characters visible, such as a
// file's name may hold, and takes users and queries out of URLs. Only the trace of
// a bug of ours keeps its lines.
func OneLine(message string) string {
	message = redact.Text(message)
	if strings.HasPrefix(message, "BUG: ") {
		return message
	}
	var b strings.Builder
	for _, r := range strings.ReplaceAll(message, "\n", "; ") {
		if unicode.IsControl(r) {
			fmt.Fprintf(&b, "\\x%02x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Normalize lets Google's flag names, written with underscores, be typed as
// they are.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
