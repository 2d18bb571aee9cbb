package command

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/onefile"
	"pretext/extract/wiki"
	"pretext/extract/wiki/rendering"
	"pretext/internal/humanize"
	"pretext/internal/store"
)

func newTemplates() *cobra.Command {
	var lang, wiki string
	var files []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "templates",
		Short: "List the texts that templates of wikis show",
		Long: `Lists what prepare-data knows of the templates of a wiki: kind, name, value and
scope, with the file and line of each entry. To add entries or replace some, give
extract and run a file with --templates. It has lines KIND NAME | VALUE below a line
with their scope ([all], [LANGUAGE] or [WIKI]):

  [de]
  template höhe | arg-after 1 " m"
  label circa | "um "

templates collect writes such a file with the definitions of a wiki's own templates;
templates learn proposes lines, from pages of the wiki as HTML; templates check
compares the known ones with such pages.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			parsed, err := readTemplates(cmd.Context(), files)
			if err != nil {
				return err
			}
			if lang != "" && !languageForm().MatchString(lang) {
				return usagef("--lang %q: not the code of a language, such as de", lang)
			}
			if wiki != "" && !wikiForm().MatchString(wiki) {
				return usagef("--wiki-name %q: not the name of a wiki, such as dewiktionary", wiki)
			}
			holds := func(f *rendering.File) bool { return f.HoldsFor(lang, wiki) }
			if err := checkEffect(parsed, holds, "the wiki that is listed: give another --lang or --wiki-name"); err != nil {
				return err
			}
			known := rendering.NewSet(parsed...).Known(lang, wiki)
			if own := strings.ToLower(cmp.Or(lang, "en")); !slices.ContainsFunc(known, func(e rendering.Entry) bool { return e.Scope != rendering.ScopeAll }) {
				fmt.Fprintf(cmd.ErrOrStderr(), "prepare-data: no line is for %s: the list is what holds for all wikis\n", own)
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), known)
			}
			t := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, e := range known {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s:%d\n", e.Kind, e.Name, e.Value, e.Scope, e.File, e.Line)
			}
			return t.Flush()
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "", "language of the wiki, such as de; default: English")
	cmd.Flags().StringVar(&wiki, "wiki-name", "", "name of the wiki, such as dewiktionary")
	addTemplates(cmd.Flags(), &files)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the list as JSON")
	cmd.AddCommand(newCollect(), newLearn(), newCheck())
	return cmd
}

// languageForm matches the code of a language, wikiForm the name of a wiki.
var (
	languageForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{2,}(-[A-Za-z0-9]+)*$`) })
	wikiForm     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_-]+$`) })
)

func newCollect() *cobra.Command {
	var dump string
	var workers int
	out := onefile.Output{Kind: onefile.Definitions}
	cmd := &cobra.Command{
		Use:   "collect --wiki-dump FILE --out FILE",
		Short: "Collect the definitions of a wiki's own templates",
		Long: `Reads the template pages of a dump and writes a file for --templates with those
that are wikitext which a sentence can include: no Lua, no tables, at most 4 KiB, or
64 KiB with #switch. Use the file to look at the definitions, to change them, or to
expand templates of another dump of the wiki. The templates of the dump itself need
no file: extract and run expand them on their own. If there are more than 12 MiB of
definitions, the file has the shortest ones. It does not depend on --workers.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dump == "" || out.Path == "" {
				return usagef("give --wiki-dump FILE and --out FILE")
			}
			out.Inputs = []string{dump}
			if err := out.Check(cmd.Context()); err != nil {
				return err
			}
			f, err := store.OpenPath(cmd.Context(), dump)
			if err != nil {
				return err
			}
			defer f.Close()
			head, err := wiki.ReadHead(f, f.Size())
			if err != nil {
				return fmt.Errorf("%s: %w", dump, err)
			}
			d := wiki.Dump{File: f, Size: f.Size(), Name: store.Base(dump), Head: head}
			list, err := wiki.CollectDefinitions(cmd.Context(), d, workers)
			if err != nil {
				return err
			}
			if err := out.Write(cmd.Context(), wiki.AppendDefinitions(nil, d.Wiki(), list)); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", out.Path, humanize.Things(int64(len(list)), "definition"))
			return err
		},
	}
	cmd.Flags().StringVar(&dump, "wiki-dump", "", "MediaWiki XML dump: .xml, .xml.bz2 or .xml.gz")
	addOutFile(cmd.Flags(), &out, "file to write")
	cmd.Flags().IntVar(&workers, "workers", runtime.GOMAXPROCS(0), "ranges of the dump that are read at once; does not affect the output's bytes")
	return cmd
}

// readTemplates parses files of rendering data.
func readTemplates(ctx context.Context, paths []string) (files []*rendering.File, err error) {
	for _, path := range paths {
		text, err := store.ReadSmall(ctx, path, store.Templates)
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

// checkEffect returns a usage error if a file has lines but no effect. holds reports
// whether a file applies to any of the wikis; the message names them by the text wikis.
func checkEffect(files []*rendering.File, holds func(*rendering.File) bool, wikis string) error {
	for _, f := range files {
		if scopes := f.Scopes(); len(scopes) > 0 && !holds(f) {
			return usagef("--templates %s: the file has no effect, because it has lines only for [%s], none for %s", f.Name, strings.Join(scopes, "], ["), wikis)
		}
	}
	return nil
}
