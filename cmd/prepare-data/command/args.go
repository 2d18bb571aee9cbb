package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/extract/wiki"
)

// manyFiles are the flags that several files may follow, because the shell expands a
// pattern such as --wiki-dump parts/* to several words.
var manyFiles = []string{"wiki-dump", "wiki-html", "books", "text"}

// Args returns args with --wiki-dump A B rewritten to --wiki-dump=A --wiki-dump=B, and
// likewise for --books and --text. It sorts the parts of a dump by their page numbers,
// because a shell sorts names as text. Words after other flags are not changed.
func Args(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(out, args[i:]...)
		}
		name, value, inOne := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		if !strings.HasPrefix(arg, "--") || !slices.Contains(manyFiles, strings.ReplaceAll(name, "_", "-")) {
			out = append(out, arg)
			continue
		}
		var words []string
		if inOne {
			words = append(words, value)
		} else if i+1 < len(args) { // the flag's value, even if it begins with a hyphen
			i++
			words = append(words, args[i])
		} else {
			return append(out, arg)
		}
		for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			i++
			words = append(words, args[i])
		}
		if name = "--" + name; name == "--wiki-dump" || name == "--wiki_dump" {
			wiki.SortParts(words)
		}
		for _, word := range words {
			out = append(out, name+"="+word)
		}
	}
	return out
}

// noWords is the [cobra.Command] Args function of commands without arguments. If a command
// line has any, noWords returns a usage error that names the flags for files.
func noWords(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	if err := cli.StrayWord(cmd, words); err != nil {
		return err
	}
	return usagef("%q is not a flag, and %s takes no arguments: put files right after --wiki-dump or --books", words[0], cmd.Name())
}
