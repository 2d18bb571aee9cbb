package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"pretext/internal/redact"
)

// OneLine returns message on one line. Line feeds become "; ", other control characters
// (which file names may contain) become \x1b and the like, and user names and queries are
// removed from URLs. If the message begins with "BUG: ", its lines are kept, because it
// has a stack trace.
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

// Normalize replaces underscores in a flag name by hyphens, so that the flags of Google's
// BERT scripts, such as --max_seq_length, work unchanged.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
