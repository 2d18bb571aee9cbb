package cli

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A Group lists flags and settings under a common heading in help texts and manual pages.
// Settings are rarely used options without a flag of their own.
type Group struct {
	Heading string
	Flags   []string // in the order of the help text

	// Settings are keys of the settings file, of the environment and of --set. The text after
	// an @ lists the commands in which the key is a setting; in all others it is a flag. So
	// "rule@run,plan" makes rule a setting of run and plan, and leaves --rule to filter.
	Settings []string
}

// manyFlags is the minimum number of flags of a command whose help has headings.
const manyFlags = 12

const (
	groupKey   = "pretext_group"   // annotation key of a flag; values: its heading and its place in the help text
	settingKey = "pretext_setting" // the same for a setting
	otherFlags = "Other flags"
)

var addTemplateFunc sync.Once

// GroupFlags adds headings to the help of every command with at least [manyFlags]
// flags, and hides the settings there. Groups and flags keep the given order; a flag in
// no group comes last, under "Other flags". Call it after all commands were added.
func GroupFlags(root *cobra.Command, groups []Group) {
	addTemplateFunc.Do(func() {
		cobra.AddTemplateFunc("groupedFlags", groupedUsages)
		cobra.AddTemplateFunc("settingNames", settingNames)
	})
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}",
		"{{groupedFlags .LocalFlags | trimTrailingWhitespaces}}{{end}}{{settingNames .}}", 1))
	for _, c := range withSettings(root) {
		hideSettings(c, groups)
	}
	addTopic(root)
	places := map[string][]string{}
	for _, g := range groups {
		for _, name := range g.Flags {
			places[name] = []string{g.Heading, strconv.Itoa(len(places))}
		}
	}
	annotate(root, places)
}

func annotate(c *cobra.Command, places map[string][]string) {
	for _, sub := range c.Commands() {
		annotate(sub, places)
	}
	// Plus 1 for --help, which cobra adds when a command runs.
	if visible(c.LocalFlags())+1 < manyFlags {
		return
	}
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		place := places[f.Name]
		if place == nil {
			place = []string{otherFlags, strconv.Itoa(len(places))}
		}
		if f.Annotations == nil {
			f.Annotations = map[string][]string{}
		}
		f.Annotations[groupKey] = place
	})
}

func visible(fs *pflag.FlagSet) (n int) {
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			n++
		}
	})
	return n
}

// grouped returns the visible flags of a set by group. A command with few flags has one
// group without a heading. A flag added after GroupFlags, such as --help, is appended to
// the last group.
func grouped(fs *pflag.FlagSet) (all []flagGroup) {
	var flags []*pflag.Flag
	fs.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, f)
		}
	})
	return byHeading(flags, groupKey)
}

// byHeading sorts flags by the places in the annotations under key, and groups them.
func byHeading(flags []*pflag.Flag, key string) (all []flagGroup) {
	slices.SortStableFunc(flags, func(a, b *pflag.Flag) int { return cmp.Compare(placeOf(a, key), placeOf(b, key)) })
	for _, f := range flags {
		heading := ""
		if g := f.Annotations[key]; len(g) > 0 {
			heading = g[0]
		} else if len(all) > 0 {
			heading = all[len(all)-1].heading
		}
		if len(all) == 0 || all[len(all)-1].heading != heading {
			all = append(all, flagGroup{heading: heading})
		}
		last := &all[len(all)-1]
		last.flags = append(last.flags, f)
	}
	return all
}

type flagGroup struct {
	heading string
	flags   []*pflag.Flag
}

// placeOf returns the place of a flag in the help text, or math.MaxInt if GroupFlags has
// not assigned one.
func placeOf(f *pflag.Flag, key string) int {
	if g := f.Annotations[key]; len(g) > 1 {
		n, _ := strconv.Atoi(g[1])
		return n
	}
	return math.MaxInt
}

// groupedUsages returns the help of all visible flags, as FlagSet.FlagUsages formats it,
// with a heading above each group. The descriptions of all groups begin in the same column.
func groupedUsages(fs *pflag.FlagSet) string {
	order := pflag.NewFlagSet("", pflag.ContinueOnError)
	order.SortFlags = false
	groups := grouped(fs)
	for _, g := range groups {
		for _, f := range g.flags {
			order.AddFlag(f)
		}
	}
	lines := strings.SplitAfter(order.FlagUsages(), "\n") // one flag on each line, because no usage has line feeds
	var out strings.Builder
	for _, g := range groups {
		heading := g.heading
		if heading == "" {
			heading = "Flags"
		}
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		out.WriteString(heading + ":\n")
		for range g.flags {
			out.WriteString(lines[0])
			lines = lines[1:]
		}
	}
	return out.String()
}

// UsageText returns the usage of a command as its help shows it, without trailing
// spaces.
func UsageText(c *cobra.Command) string {
	var lines []string
	for line := range strings.Lines(c.UsageString()) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}
