package command

import (
	"bytes"
	"pretext/cmd/internal/cli"
	"strings"
	"testing"
)

// The help of every command is written for users: it contains no texts of the library
// that prints it, no formatting verb without its value, and no Go type.
func TestHelpSpeaksTheLanguageOfUsers(t *testing.T) {
	for _, c := range NewRoot().Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue // cobra's own
		}
		t.Run(c.Name(), func(t *testing.T) {
			var out bytes.Buffer
			root := NewRoot()
			root.SetOut(&out)
			root.SetArgs([]string{c.Name(), "--help"})
			if err := root.Execute(); err != nil {
				t.Fatal(err)
			}
			for _, word := range []string{"%!", "%[", "%s", "stringArray", " strings ", " ints ", "<nil>"} {
				if strings.Contains(out.String(), word) {
					t.Errorf("help holds %q:\n%s", word, out.String())
				}
			}
			if cli.Described(c) == c.Short+"." {
				t.Error("no description beyond the line of the list")
			}
		})
	}
}
