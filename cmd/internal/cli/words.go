package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"pretext/internal/redact"
)

// OneLine returns a message on one line, with control characters (of file names) made
// visible and users and queries removed from URLs. A message that begins with "BUG: "
// is returned unchanged, because it has a stack trace.
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

// Normalize replaces underscores in flag names by hyphens, so that Google's names can be
// typed unchanged.
func Normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	return pflag.NormalizedName(strings.ReplaceAll(name, "_", "-"))
}
