package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pretext/extract/wiki"
)

// manyFiles are the flags after whose value more of them may follow, as a shell
// makes of --wiki-dump parts/*.
var manyFiles = []string{"wiki-dump", "books", "text"}

// Args returns a command line in which each word that follows a value of --wiki-dump,
// --books or --text is a value of that flag of its own. Parts of a dump among such
// words are put into the order of their pages, which is not that of a shell. A word
// that follows anything else stays what it was, an argument, which most commands
// refuse; a word that was taken for a file is refused where there is none.
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
		} else if i+1 < len(args) { // whatever it looks like, it is the flag's value
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

// noWords refuses words that follow no flag which takes them.
func noWords(cmd *cobra.Command, words []string) error {
	if len(words) == 0 {
		return nil
	}
	return usagef("%q is not a flag, and %s takes no arguments: put files right after --wiki-dump or --books", words[0], cmd.Name())
}
