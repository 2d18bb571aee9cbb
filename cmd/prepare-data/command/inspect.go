package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/pipeline"
	"pretext/records"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/trainer/loader"
)

func newInspect() *cobra.Command {
	var asJSON, values, each bool
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "Describe a run, a folder or a file of records",
		Long: `Describes a run, a stage's folder or a file of records. It reads the manifest or,
for a single file, the records. With --values it reads all records, and counts and
sums the values of each feature. With --records it writes one JSON object per
example, with all values under the names of their features.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if each {
				return inspectRecords(cmd, args[0])
			}
			all, err := survey.Inspect(cmd.Context(), args[0], values)
			if err != nil {
				return err
			}
			if asJSON {
				if len(all) == 1 {
					return printJSON(cmd.OutOrStdout(), all[0])
				}
				return printJSON(cmd.OutOrStdout(), all)
			}
			return printInspections(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the result as JSON")
	cmd.Flags().BoolVar(&values, "values", false, "read all records, and count and sum the values of each feature")
	cmd.Flags().BoolVar(&each, "records", false, "write every example as JSON, one per line")
	return cmd
}

// jsonExample is an example as JSON, with the feature names of the original BERT release.
type jsonExample struct {
	File               string    `json:"file"`
	Record             int64     `json:"record"`
	InputIDs           []int32   `json:"input_ids"`
	InputMask          []int32   `json:"input_mask"`
	SegmentIDs         []int32   `json:"segment_ids"`
	MaskedLMPositions  []int32   `json:"masked_lm_positions"`
	MaskedLMIDs        []int32   `json:"masked_lm_ids"`
	MaskedLMWeights    []float32 `json:"masked_lm_weights"`
	NextSentenceLabels []int32   `json:"next_sentence_labels"`
}

func newJSONExample(r loader.Record) jsonExample {
	e := r.Example
	return jsonExample{r.File, r.Index, e.InputIDs, e.InputMask, e.SegmentIDs, e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights, []int32{e.NextSentenceLabel}}
}

// jsonFormed is the JSON form of an example that is not a pair, without the features
// that its form lacks.
type jsonFormed struct {
	File              string    `json:"file"`
	Record            int64     `json:"record"`
	InputIDs          []int32   `json:"input_ids"`
	InputMask         []int32   `json:"input_mask,omitempty"`
	SegmentIDs        []int32   `json:"segment_ids,omitempty"`
	MaskedLMPositions []int32   `json:"masked_lm_positions,omitempty"`
	MaskedLMIDs       []int32   `json:"masked_lm_ids,omitempty"`
	MaskedLMWeights   []float32 `json:"masked_lm_weights,omitempty"`
	SequenceLengths   []int32   `json:"sequence_lengths,omitempty"`
}

// asJSON returns the value to encode as JSON for an example: all its features.
func asJSON(r loader.Record) any {
	e := r.Example
	if e.NextSentenceLabel != records.NoLabel {
		return newJSONExample(r)
	}
	return jsonFormed{r.File, r.Index, e.InputIDs, e.InputMask, e.SegmentIDs, e.MaskedLMPositions, e.MaskedLMIDs, e.MaskedLMWeights, e.SequenceLengths}
}

func inspectRecords(cmd *cobra.Command, path string) error {
	w := bufio.NewWriterSize(cmd.OutOrStdout(), 64<<10)
	enc := json.NewEncoder(w)
	shards, err := openShards(cmd, path)
	if err != nil {
		return err
	}
	for r, err := range shards.Examples(cmd.Context()) {
		if err == nil {
			err = enc.Encode(asJSON(r))
		}
		if err != nil {
			return err
		}
	}
	return w.Flush()
}

func printInspections(w io.Writer, all []survey.Inspection) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, in := range all {
		fmt.Fprintf(t, "%s\t%s\t\n", in.Path, in.Stage)
		for _, w := range in.Warnings {
			fmt.Fprintf(t, "  warning: %s\n", cli.OneLine(w.Text))
		}
		if in.Fingerprint != "" {
			fmt.Fprintf(t, "  fingerprint\t%.16s\t\n", in.Fingerprint)
		}
		for _, i := range in.Inputs {
			fmt.Fprintf(t, "  input %s\t%s\t%.16s\n", i.Name, humanize.Bytes(i.Bytes), i.SHA256)
		}
		for _, line := range (pipeline.StageSummary{Counts: in.Counts}).Lines() {
			fmt.Fprintf(t, "  %s\t%s\t\n", line.Name, humanize.Count(line.Count))
		}
		printDropped(t, in.Dropped)
		for _, f := range in.Files {
			fmt.Fprintf(t, "  %s\t%s\t%s %s\n", f.Name, humanize.Bytes(f.Bytes), holds(f), f.Compression)
		}
		for _, f := range in.Features {
			fmt.Fprintf(t, "  %s\t%s[%d..%d]\t%s, sum %.0f\n", f.Name, f.Kind, f.Least, f.Most, humanize.Things(f.Records, "record"), f.Sum)
		}
	}
	return t.Flush()
}

// holds returns the content of a file as text, such as "3 records"; it is "" for a
// file without records or documents.
func holds(f survey.FileInspection) string {
	if documents, ok := f.Counts["documents"]; ok && f.Records == 0 {
		return humanize.Things(documents, "document")
	}
	if f.Records == 0 && f.Counts["records"] == 0 && len(f.Counts) > 0 {
		return ""
	}
	return humanize.Things(f.Records, "record")
}

// droppedShown is the maximum number of templates in the text output; --json lists all.
const droppedShown = 10

// printDropped writes the most frequent wiki templates that gave no text.
func printDropped(w io.Writer, d *sharding.DroppedTemplates) {
	if d == nil {
		return
	}
	for _, t := range d.Templates[:min(len(d.Templates), droppedShown)] {
		fmt.Fprintf(w, "  dropped {{%s}}\t%s\t\n", cli.OneLine(t.Name), humanize.Count(t.Uses))
	}
	if more := len(d.Templates) - droppedShown; more > 0 {
		fmt.Fprintf(w, "  dropped templates\t%d more\tsee --json\n", more)
	}
	for _, h := range d.Wikis {
		printHoles(w, h)
	}
	if d.Slack > 0 {
		fmt.Fprintf(w, "  dropped templates\tcounts may be too small by up to %d\t\n", d.Slack)
	}
}

// printHoles writes how many sentences of a wiki lack text because a template was not
// expanded.
func printHoles(w io.Writer, h sharding.WikiHoles) {
	fmt.Fprintf(w, "  holes in %s\t%s\t%g per 1,000 sentences\n", cli.OneLine(h.Wiki), humanize.Count(h.Holes), h.PerThousand)
	for _, t := range h.Templates[:min(len(h.Templates), droppedShown)] {
		fmt.Fprintf(w, "  hole {{%s}}\t%s\tfirst in %s\n", cli.OneLine(t.Name), humanize.Count(t.Uses), cli.OneLine(t.First))
	}
}
