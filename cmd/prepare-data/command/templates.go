package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/extract/wiki/rendering"
)

func newTemplates() *cobra.Command {
	var lang, wiki string
	var files []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "templates",
		Short: "List what templates of wikis show",
		Long: `Lists what is known of the templates of a wiki: kind, name, value, scope, and the
file and line that says so. A file in the form KIND NAME | VALUE, below a line with
its scope ([all], [LANGUAGE] or [WIKI]), is given to extract and run with --templates:

  [de]
  template höhe | arg-after 1 " m"
  label circa | "um "`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parsed, err := readTemplates(files)
			if err != nil {
				return err
			}
			known := rendering.NewSet(parsed...).Known(lang, wiki)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), known)
			}
			return listTemplates(cmd.OutOrStdout(), known)
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "language of the wiki, such as de; default: English")
	cmd.Flags().StringVar(&wiki, "wiki-name", "", "name of the wiki, such as dewiktionary")
	addTemplates(cmd.Flags(), &files)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the list as JSON")
	return cmd
}

// readTemplates parses files of rendering data.
func readTemplates(paths []string) (files []*rendering.File, err error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := rendering.Parse(filepath.Base(path), text)
		if err != nil {
			return nil, misuse(err)
		}
		files = append(files, f)
	}
	return files, nil
}

func listTemplates(w io.Writer, known []rendering.Entry) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, e := range known {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s:%d\n", e.Kind, e.Name, e.Value, e.Scope, e.File, e.Line)
	}
	return t.Flush()
}
