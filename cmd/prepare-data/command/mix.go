package command

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"pretext/cmd/internal/cli"
	"pretext/internal/humanize"
	"pretext/sharding"
)

// addMix adds the flags of mixes: how often each source is read.
func addMix(fs *pflag.FlagSet, o *sharding.ExamplesOptions) {
	fs.Var(sourceNumbers(o, func(m *sharding.Mix) *map[string]float64 { return &m.Weights }), "weight",
		"weight of a source, SOURCE=W: with enwiki=3 and books=1 three quarters of all tokens are of enwiki; every source needs one, 0 leaves a source out; may be repeated")
	fs.Var(sourceNumbers(o, func(m *sharding.Mix) *map[string]float64 { return &m.Epochs }), "epochs",
		"number of times that the documents of a source are read, SOURCE=N: 2.5 reads all twice, and documents with half of the tokens once more; default: once; may be repeated")
	var given *float64
	alpha := cli.Optional(&given, "float64", "", func(text string) (float64, error) {
		a, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, errors.New("must be a number from 0 to 1")
		}
		mixOf(o).LanguageAlpha = &a
		return a, nil
	})
	fs.Var(alpha, "language-alpha", "exponent of the shares of languages, 0 to 1: 0.7 (XLM) or 0.3 (XLM-R) give small languages more, 1 leaves the shares as they are")
}

// mixOf returns the mix in the options. If there is none, it adds an empty one.
func mixOf(o *sharding.ExamplesOptions) *sharding.Mix {
	if o.Mix == nil {
		o.Mix = new(sharding.Mix)
	}
	return o.Mix
}

// sourceNumbers returns the value of a flag that takes SOURCE=NUMBER. Each use of the flag
// adds an entry to the map of the mix to which in points.
func sourceNumbers(o *sharding.ExamplesOptions, in func(*sharding.Mix) *map[string]float64) *cli.Value {
	var given []string
	return &cli.Value{Kind: "source=number", Show: func() []string { return given }, Read: func(text string) error {
		name, number, ok := strings.Cut(text, "=")
		v, err := strconv.ParseFloat(number, 64)
		if !ok || name == "" || err != nil {
			return errors.New("must be SOURCE=NUMBER, such as enwiki=2")
		}
		values := in(mixOf(o))
		if _, twice := (*values)[name]; twice {
			return fmt.Errorf("source %s is given twice", name)
		}
		if *values == nil {
			*values = map[string]float64{}
		}
		(*values)[name] = v
		given = append(given, text)
		return nil
	}}
}

// printMix writes the table of a mix, if there is one.
func printMix(w io.Writer, table []sharding.MixRow) error {
	if len(table) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	name := func(r sharding.MixRow) string {
		return strings.TrimSpace(cli.OneLine(r.Source) + " " + cli.OneLine(r.Language))
	}
	width := len("mix")
	for _, r := range table {
		width = max(width, len(name(r)))
	}
	fmt.Fprintf(t, "%-*s\tdocuments\ttokens\tshare\tepochs\ttokens read\tshare\twanted\t\n", width, "mix")
	before, after := sharding.MixTokens(table)
	for _, r := range table {
		fmt.Fprintf(t, "%-*s\t%s\t%s\t%s\t%.4g\t%s\t%s\t%s\t\n", width, name(r), humanize.Count(r.Documents), humanize.Count(r.Tokens), share(r.Tokens, before),
			r.Epochs(), humanize.Count(r.MixedTokens), share(r.MixedTokens, after), humanize.Count(r.Wanted))
	}
	return t.Flush()
}

// share formats n as a percentage of all.
func share(n, all int64) string { return humanize.Percent(float64(n) / float64(max(1, all))) }
