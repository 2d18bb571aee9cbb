package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"pretext/extract/download"
	"pretext/pipeline"
)

func newPlan() *cobra.Command {
	var s runSettings
	cmd := &cobra.Command{
		Use:   "plan --preset NAME | --wiki NAME | --wiki-dump FILE ...",
		Short: "What a run would bring, make and take; writes nothing",
		Long: `Takes the flags of run and says which files it would read or download, their
licences, and about how much text, examples, disk and memory there will be.
Exit code 9 says that it does not fit into --memory or the disk.

Local dumps are sampled, sources to download are asked for their sizes; where no
server answers, or with --offline, recorded sizes stand in and are called so.
Numbers of what is made are estimates, good to about a third.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.run.out = cmp.Or(s.run.out, ".")
			r, err := s.run.pipeline(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			c, preset, err := s.config(cmd, io.Discard)
			if err != nil {
				return err
			}
			p, err := pipeline.PlanRun(cmd.Context(), pipeline.PlanConfig{Run: c, Workers: r.Workers, Typical: typical})
			if fit := (*pipeline.FitError)(nil); err != nil && !errors.As(err, &fit) {
				return err
			}
			return cmp.Or(printPlan(cmd.OutOrStdout(), p, preset, s.run.json), err)
		},
	}
	s.add(cmd.Flags())
	cmd.Flags().Lookup("out").Usage = "folder that the run would write to: its disk is looked at"
	return cmd
}

// typical returns recorded sizes.
func typical(r download.Request) (pipeline.TypicalSize, bool) {
	t := presets().Typical
	switch r.Kind {
	case download.Wiki:
		size, ok := t.Wikis[r.Wiki]
		return pipeline.TypicalSize(size), ok
	case download.Gutenberg:
		books := int64(len(r.IDs))
		if books == 0 {
			count, ok := t.Books[cmp.Or(r.Language, "all")]
			if !ok {
				return pipeline.TypicalSize{}, false
			}
			books = count
		}
		if r.Limit > 0 {
			books = min(books, int64(r.Limit))
		}
		return pipeline.TypicalSize{Bytes: books * 400_000, Source: "400 kB a book"}, true
	}
	return pipeline.TypicalSize{}, false
}

func printPlan(w io.Writer, p *pipeline.Plan, preset string, asJSON bool) error {
	if asJSON {
		return printJSON(w, struct {
			Preset string `json:"preset,omitempty"`
			*pipeline.Plan
		}{preset, p})
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if preset != "" {
		fmt.Fprintf(t, "preset\t%s\t%s\n", preset, presets().Presets[preset].About)
	}
	for _, s := range p.Sources {
		verb := "download"
		if s.Local {
			verb = "read"
		}
		fmt.Fprintf(t, "%s\t%s\t%d files, %s (%s)\n\t\tabout %s of text in %d documents\n\t\tlicence: %s\n", verb, s.Name, s.Files, size(s.Bytes), s.Basis,
			size(s.TextBytes), s.Documents, s.Licence)
	}
	if p.DownloadFiles > 0 {
		fmt.Fprintf(t, "download\t%d files\t%s, at least %v by the servers' limits\n", p.DownloadFiles, size(p.DownloadBytes), time.Duration(p.DownloadSeconds)*time.Second)
	}
	fmt.Fprintf(t, "text\t\tabout %s in %d documents\n", size(p.TextBytes), p.Documents)
	fmt.Fprintf(t, "examples\t\tabout %d in %d shards\n", p.Records, p.Shards)
	d := p.Disk
	free := "nobody knows how much is free"
	if d.Free >= 0 {
		free = size(d.Free) + " are free"
	}
	filtered := ""
	if d.Filtered > 0 {
		filtered = ", filtered " + size(d.Filtered)
	}
	fmt.Fprintf(t, "disk\t\tabout %s at most: sources %s, documents %s%s, vocabulary %s, shards %s, scratch %s; %s\n", size(d.Peak), size(d.Sources), size(d.Documents),
		filtered, size(d.Vocab), size(d.Shards), size(d.Scratch), free)
	fmt.Fprintf(t, "memory\t\tabout %s at most, %s at least; --memory allows %s\n", size(p.Memory.Peak), size(p.Memory.Needed), size(p.Memory.Allowed))
	for _, n := range p.Notes {
		fmt.Fprintf(t, "note\t\t%s\n", n)
	}
	return t.Flush()
}
