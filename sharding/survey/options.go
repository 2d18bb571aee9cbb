package survey

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pretext/internal/humanize"
	"pretext/sharding"
)

// An Option is one option of a stage: its dotted name and its value, both as text.
type Option struct{ Name, Value string }

// mixTable is the option that [OptionList] omits.
const mixTable = "mix.table"

// OptionList returns the JSON options of a stage, sorted by name. It omits the table of a
// mix, which [Stage.Mix] returns.
func OptionList(raw json.RawMessage) (list []Option) {
	for name, value := range sharding.FlattenOptions(raw) {
		if name != mixTable {
			list = append(list, Option{name, value})
		}
	}
	slices.SortFunc(list, func(a, b Option) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Examples returns the options with which the examples of a stage were made. For
// converted shards these are the options of the original shards. ok is false if they are
// unknown.
func (s Stage) Examples() (o sharding.ExamplesOptions, ok bool) {
	raw := s.Options
	if s.Stage == sharding.StageConvert {
		var c sharding.ConvertOptions
		if json.Unmarshal(raw, &c) != nil {
			return o, false
		}
		raw = c.Examples
	}
	return o, json.Unmarshal(raw, &o) == nil
}

// A MixedSource is a row of a mix's table with its share.
type MixedSource struct {
	sharding.MixRow
	Share float64 // fraction of all tokens read
}

// Mix returns the sources of the stage's mix, or nil without a mix.
func (s Stage) Mix() (rows []MixedSource) {
	table := sharding.MixTable(s.Options)
	_, all := sharding.MixTokens(table)
	for _, r := range table {
		rows = append(rows, MixedSource{r, float64(r.MixedTokens) / float64(max(1, all))})
	}
	return rows
}

// Name returns the name and the language of the source.
func (m MixedSource) Name() string { return strings.TrimSpace(m.Source + " " + m.Language) }

// String returns how often the source was read, as text.
func (m MixedSource) String() string {
	return fmt.Sprintf("%s tokens, read %.4g times: %s of all", humanize.Count(m.Tokens), m.Epochs(), humanize.Percent(m.Share))
}
