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
	"pretext/internal/humanize"
	"pretext/pipeline"
	"pretext/pipeline/stage"
)

func newPlan() *cobra.Command {
	var s runSettings
	var on machineFlags
	cmd := &cobra.Command{
		Use:   "plan --preset NAME | --wiki NAME | --wiki-dump FILE ...",
		Short: "Estimate the downloads, disk, memory and examples of a run; writes nothing",
		Long: `Takes the flags of run and prints which files run would read or download, their
licences, and estimates of text, examples, disk and memory. Exit code 9: the run
does not fit into --memory or onto the disk.

Local dumps are sampled; servers are asked for the sizes of downloads. If a server
does not answer, or with --offline, plan uses sizes recorded earlier and marks
them. The estimates are accurate to about a third.

With --machines it also simulates the run on several machines with shared storage,
and prints its time, memory, network and requests. The constants are measured; how
often machines are slow or lost is assumed: see docs/scale.md.`,
		Args: noWords,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.c.Out = cmp.Or(s.c.Out, ".")
			s.run.metrics = "" // the run that is planned has the listener
			r, err := s.run.whole(cmd)
			if err != nil {
				return err
			}
			preset, err := s.complete(cmd, io.Discard)
			if err != nil {
				return err
			}
			machines, err := on.machines()
			if err != nil {
				return err
			}
			p, err := pipeline.PlanRun(cmd.Context(), pipeline.PlanConfig{Run: s.c, Workers: r.Workers, Cluster: r.Name == stage.Flink, Formats: s.format.formats, For: s.format.consumers, Machines: machines, Typical: typical})
			if fit := (*pipeline.FitError)(nil); err != nil && !errors.As(err, &fit) {
				return err
			}
			if s.run.json {
				shown := struct {
					Preset string `json:"preset,omitempty"`
					*pipeline.Plan
				}{preset, p}
				return cmp.Or(printJSON(cmd.OutOrStdout(), shown), err)
			}
			return cmp.Or(printPlan(cmd.OutOrStdout(), p, preset), printScale(cmd.OutOrStdout(), p, on), err)
		},
	}
	s.add(cmd.Flags())
	on.add(cmd.Flags())
	cmd.Flags().Lookup("out").Usage = "directory that the run would write to, whose free space is checked"
	return cmd
}

// typical returns the size of a request's files as recorded in presets.json. It returns
// false if presets.json has none.
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

func printPlan(w io.Writer, p *pipeline.Plan, preset string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if preset != "" {
		fmt.Fprintf(t, "preset\t%s\t%s\n", preset, presets().Presets[preset].About)
	}
	for _, s := range p.Sources {
		verb := "download"
		if s.Local {
			verb = "read"
		}
		fmt.Fprintf(t, "%s\t%s\t%s, %s (%s)\n\t\tabout %s of text in %s; source %s\n\t\tlicence: %s\n", verb, s.Name, files(int(s.Files)), humanize.Bytes(s.Bytes), s.Basis,
			humanize.Bytes(s.TextBytes), humanize.Things(s.Documents, "document"), s.Source, s.Licence)
	}
	if p.DownloadFiles > 0 {
		fmt.Fprintf(t, "download\t%s\t%s, at least %v by the servers' limits\n", files(int(p.DownloadFiles)), humanize.Bytes(p.DownloadBytes), time.Duration(p.DownloadSeconds)*time.Second)
	}
	fmt.Fprintf(t, "text\t\tabout %s in %s\n", humanize.Bytes(p.TextBytes), humanize.Things(p.Documents, "document"))
	fmt.Fprintf(t, "examples\t\tabout %s in %s\n", humanize.Count(p.Records), humanize.Things(int64(p.Shards), "shard"))
	d := p.Disk
	free := "free space unknown"
	if d.Free >= 0 {
		free = humanize.Bytes(d.Free) + " are free"
	}
	filtered, converted := "", ""
	if d.Filtered > 0 {
		filtered = ", filtered " + humanize.Bytes(d.Filtered)
	}
	if d.Converted > 0 {
		converted = ", other formats " + humanize.Bytes(d.Converted)
	}
	fmt.Fprintf(t, "disk\t\tabout %s at most: sources %s, documents %s%s, vocabulary %s, shards %s%s, scratch %s; %s\n", humanize.Bytes(d.Peak), humanize.Bytes(d.Sources), humanize.Bytes(d.Documents),
		filtered, humanize.Bytes(d.Vocab), humanize.Bytes(d.Shards), converted, humanize.Bytes(d.Scratch), free)
	if d.Spool > 0 {
		fmt.Fprintf(t, "temporary\t\tabout %s in an unnamed file while dumps with templates are extracted\n", humanize.Bytes(d.Spool))
	}
	fmt.Fprintf(t, "memory\t\tabout %s at most, %s at least; --memory allows %s\n", humanize.Bytes(p.Memory.Peak), humanize.Bytes(p.Memory.Needed), humanize.Bytes(p.Memory.Allowed))
	for _, n := range p.Notes {
		fmt.Fprintf(t, "note\t\t%s\n", n)
	}
	if err := t.Flush(); err != nil || p.Mix == nil {
		return err
	}
	fmt.Fprintln(w, "\nTokens are estimated; examples counts them:")
	return printMix(w, p.Mix)
}
