package sharding

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pretext/internal/failure"
	"pretext/internal/portable"
)

// A Mix configures how often the documents of each source are read in one pass over the
// data. Shares are fractions of the tokens. At least one of Weights, Epochs and
// LanguageAlpha is set.
//
// A key of Weights and Epochs is the name of a source (see [SourceNames]), or the part of
// the name before a hyphen: "enwiki" stands for all parts of a dump of enwiki, which then
// count as one source. [ResolveMix] computes the table.
type Mix struct {
	// Weights are the relative shares of sources among all sources with a weight. If any
	// source has a weight, all others need a weight or epochs.
	Weights map[string]float64 `json:"weights,omitempty"`
	// Epochs is how many times the documents of a source are read: 2.5 reads all
	// documents twice, and documents with half of the tokens a third time. A source
	// without weight and epochs is read once.
	Epochs map[string]float64 `json:"epochs,omitempty"`
	// LanguageAlpha is the exponent for language shares: a language with the share p of
	// the tokens gets p^alpha, divided by the sum of p^alpha over all languages (Conneau
	// and Lample 2019, arXiv 1901.07291). 1 keeps the shares, 0 makes them equal. nil
	// ignores languages.
	LanguageAlpha *float64 `json:"language_alpha,omitempty"`

	Table []MixRow `json:"table,omitempty"` // the chosen documents; nil until computed
}

// maxEpochs is the maximum number of passes over a source.
const maxEpochs = 1000

// Enabled reports whether any option of m is set.
func (m *Mix) Enabled() bool {
	return m != nil && (len(m.Weights) > 0 || len(m.Epochs) > 0 || m.LanguageAlpha != nil)
}

// Validate reports every invalid option.
func (m *Mix) Validate() error {
	var errs []error
	sum := 0.0
	for _, name := range sortedKeys(m.Weights) {
		w := m.Weights[name]
		sum += w
		if !(w >= 0 && w <= math.MaxFloat32) {
			errs = append(errs, fmt.Errorf("weight %s=%g: must be a number of at least 0", name, w))
		}
		if _, both := m.Epochs[name]; both {
			errs = append(errs, fmt.Errorf("weight and epochs of %s: give one of them", name))
		}
	}
	if len(m.Weights) > 0 && sum == 0 {
		errs = append(errs, errors.New("weight: all are 0: give at least one source a weight above 0"))
	}
	for _, name := range sortedKeys(m.Epochs) {
		if n := m.Epochs[name]; !(n >= 0 && n <= maxEpochs) {
			errs = append(errs, fmt.Errorf("epochs %s=%g: must be a number from 0 to %d", name, n, maxEpochs))
		}
	}
	if a := m.LanguageAlpha; a != nil && !(*a >= 0 && *a <= 1) {
		errs = append(errs, fmt.Errorf("language_alpha %g: must be a number from 0 to 1", *a))
	}
	if m.LanguageAlpha != nil && len(m.Weights) > 0 {
		errs = append(errs, errors.New("weight and language_alpha: both set shares of tokens: give one of them, or epochs for sources and language_alpha"))
	}
	return errors.Join(errs...)
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// A MixPart identifies a source: all documents files in one folder with the same
// [SourceOf].
type MixPart struct {
	Folder int    `json:"folder"` // number of the documents folder, from 0
	Source string `json:"source"`
}

// A mixSource is a source with its name in the mix: the name in its file names, followed
// by "-2" in the second folder that has a source of this name, "-3" in the third and so
// on.
type mixSource struct {
	MixPart
	name string
}

func mixSources(inputs []DocumentsInput) (sources []mixSource) {
	seen := map[MixPart]bool{}
	names := map[string]bool{}
	for i, in := range inputs {
		for _, f := range in.Files {
			part := MixPart{i, SourceOf(f.Name)}
			if seen[part] {
				continue
			}
			seen[part] = true
			name := part.Source
			if names[name] {
				name = fmt.Sprintf("%s-%d", name, i+1)
			}
			names[name] = true
			sources = append(sources, mixSource{part, name})
		}
	}
	return sources
}

// SourceNames returns the names of the sources in a mix of documents folders, in source
// order.
func SourceNames(inputs []DocumentsInput) (names []string) {
	for _, s := range mixSources(inputs) {
		names = append(names, s.name)
	}
	return names
}

// A mixGroup is a list of sources that are mixed as one: all sources that one key of the
// options matches, or a single source that no key matches.
type mixGroup struct {
	name    string
	sources []string // names
	parts   []MixPart
}

// groups returns the groups of the sources in names, in the order of names. A key that
// matches no source is a usage error. If there are weights, a source without weight or
// epochs is one too.
func (m *Mix) groups(names []string) (groups []mixGroup, err error) {
	owner := map[string]string{} // key by source
	for _, key := range append(sortedKeys(m.Weights), sortedKeys(m.Epochs)...) {
		named := NamedSources(key, names)
		if len(named) == 0 {
			return nil, failure.Usagef("--%s %s: there is no such source; the sources are %s", m.flag(key), key, list(names))
		}
		for _, name := range named {
			if other, taken := owner[name]; taken {
				return nil, failure.Usagef("--%s %s and --%s %s: both name the source %s", m.flag(other), other, m.flag(key), key, name)
			}
			owner[name] = key
		}
	}
	for _, name := range names {
		key, ok := owner[name]
		if !ok && len(m.Weights) > 0 {
			return nil, failure.Usagef("source %s has no weight: give every source a --weight or --epochs; 0 leaves a source out", name)
		}
		key = cmp.Or(key, name)
		i := slices.IndexFunc(groups, func(g mixGroup) bool { return g.name == key })
		if i < 0 {
			i, groups = len(groups), append(groups, mixGroup{name: key})
		}
		groups[i].sources = append(groups[i].sources, name)
	}
	return groups, nil
}

// CheckNames returns a usage error if a key matches none of the sources in names, or if a
// source lacks a weight.
func (m *Mix) CheckNames(names []string) error {
	_, err := m.groups(names)
	return err
}

// Estimate returns the table of the mix from estimated numbers of documents and tokens.
// Each row of sources has a name, a language, documents and tokens. Without
// LanguageAlpha, languages are ignored.
func (m *Mix) Estimate(sources []MixRow) (table []MixRow, err error) {
	var names []string
	for _, s := range sources {
		if !slices.Contains(names, s.Source) {
			names = append(names, s.Source)
		}
	}
	groups, err := m.groups(names)
	if err != nil {
		return nil, err
	}
	for _, s := range sources {
		g := slices.IndexFunc(groups, func(g mixGroup) bool { return slices.Contains(g.sources, s.Source) })
		if s.Source = groups[g].name; m.LanguageAlpha == nil {
			s.Language = ""
		}
		i := slices.IndexFunc(table, func(r MixRow) bool { return r.Source == s.Source && r.Language == s.Language })
		if i < 0 {
			table = append(table, s)
			continue
		}
		table[i].Documents += s.Documents
		table[i].Tokens += s.Tokens
	}
	if err := m.wanted(table); err != nil {
		return nil, err
	}
	for i := range table {
		r := &table[i]
		r.MixedTokens, r.MixedDocuments = r.Wanted, int64(float64(r.Documents)*float64(r.Wanted)/float64(max(1, r.Tokens)))
	}
	return table, nil
}

// NamedSources returns the elements of names that a key matches: the source with exactly
// that name, or else all sources whose names begin with the key and a hyphen.
func NamedSources(key string, names []string) (named []string) {
	if slices.Contains(names, key) {
		return []string{key}
	}
	for _, name := range names {
		if strings.HasPrefix(name, key+"-") {
			named = append(named, name)
		}
	}
	return named
}

// flag returns the name of the flag that set a key.
func (m *Mix) flag(key string) string {
	if _, ok := m.Weights[key]; ok {
		return "weight"
	}
	return "epochs"
}

// list returns the first 20 names as text.
func list(names []string) string {
	if more := len(names) - 20; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:20], ", "), more)
	}
	return strings.Join(names, ", ")
}

// wanted computes the number of tokens for each row. All rows of a group get the same
// number of epochs, which is then adjusted for languages.
func (m *Mix) wanted(rows []MixRow) error {
	rates := make([]float64, len(rows))
	inWeights, sum := 0.0, 0.0 // over all sources with a weight: tokens, and weights
	tokens := map[string]float64{}
	for _, r := range rows {
		tokens[r.Source] += float64(r.Tokens)
		if _, ok := m.Weights[r.Source]; ok {
			inWeights += float64(r.Tokens)
		}
	}
	for _, name := range sortedKeys(m.Weights) {
		if sum += m.Weights[name]; m.Weights[name] > 0 && tokens[name] == 0 {
			return failure.Usagef("--weight %s: the source has no tokens to train on: leave it out with --weight %s=0", name, name)
		}
	}
	for i, r := range rows {
		rates[i] = 1
		if n, ok := m.Epochs[r.Source]; ok {
			rates[i] = n
		}
		if w, ok := m.Weights[r.Source]; ok {
			rates[i] = 0
			if w > 0 {
				rates[i] = float64(inWeights*(w/sum)) / tokens[r.Source]
			}
		}
	}
	if err := m.temper(rows, rates); err != nil {
		return err
	}
	for i := range rows {
		r := &rows[i]
		if rates[i] > maxEpochs {
			return failure.Usagef("source %s would be read %.0f times, the maximum is %d: give it a smaller share", r.Source, rates[i], maxEpochs)
		}
		r.Wanted = int64(math.Round(rates[i] * float64(r.Tokens)))
		r.LeftOut = rates[i] == 0
	}
	return nil
}

// temper multiplies the rates of the rows by the factors of their languages,
// according to LanguageAlpha.
func (m *Mix) temper(rows []MixRow, rates []float64) error {
	if m.LanguageAlpha == nil {
		return nil
	}
	before, total := map[string]float64{}, 0.0
	for i, r := range rows {
		n := float64(rates[i] * float64(r.Tokens))
		if n > 0 && r.Language == "" {
			return failure.Usagef("%d documents of source %s have no language, and --language-alpha needs one: extract them with --language CODE, or leave the source out with --epochs %s=0",
				r.Documents, r.Source, r.Source)
		}
		before[r.Language] += n
		total += n
	}
	powers, sum := map[string]float64{}, 0.0
	for _, l := range sortedKeys(before) {
		if before[l] > 0 {
			powers[l] = portable.Pow(before[l]/total, *m.LanguageAlpha)
			sum += powers[l]
		}
	}
	for i, r := range rows {
		if p := powers[r.Language]; p > 0 {
			rates[i] *= float64(p/sum) * total / before[r.Language]
		}
	}
	return nil
}
