package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pretext/extract/download"
	"pretext/internal/redact"
	"pretext/sharding"
)

// mix predicts the table of the mix from the estimated sizes of the sources. It also sets
// c.passes, the average number of passes over the text.
func (p *Plan) mix(c *PlanConfig) (err error) {
	m := c.Run.Examples.Mix
	if !m.Enabled() {
		return nil
	}
	var rows []sharding.MixRow
	for _, s := range p.Sources {
		language := s.Language
		if language == "" && m.LanguageAlpha != nil {
			language = unknownLanguage
			p.Notes = append(p.Notes, fmt.Sprintf("%s: its languages are known when it has been read; here they count as one", s.Source))
		}
		name := fullName(m, s.Source)
		rows = append(rows, sharding.MixRow{Source: name, Language: language, Documents: s.Documents, Tokens: int64(float64(s.TextBytes) / 1e6 * tokensPerMB)})
	}
	if p.Mix, err = m.Estimate(rows); err != nil {
		return err
	}
	before, after := sharding.MixTokens(p.Mix)
	c.passes = float64(after) / float64(max(1, before))
	return nil
}

// unknownLanguage is used as the language of sources that have not been read.
const unknownLanguage = "unknown"

// downloadName returns the common prefix of the source names that a download will have.
func downloadName(q download.Request) string {
	address, _, _ := strings.Cut(redact.URL(q.URL), "?")
	address = redact.Name(address)
	switch {
	case q.Kind == download.Wiki:
		return q.Wiki
	case q.Kind == download.Gutenberg || isBook(address):
		return sourcesFolder // all single books form one source, named after their directory
	}
	return stem(download.SafeName(address))
}

// fullName returns the key of the mix that begins with beginning and a hyphen, such as
// enwiki-latest for enwiki. If there is none, it returns beginning. This is needed
// because the date in the name of a download is not known in advance.
func fullName(m *sharding.Mix, beginning string) string {
	for _, key := range slices.Sorted(maps.Keys(m.Weights)) {
		if strings.HasPrefix(key, beginning+"-") {
			return key
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.Epochs)) {
		if strings.HasPrefix(key, beginning+"-") {
			return key
		}
	}
	return beginning
}

// checkMix returns a usage error if the mix does not match the sources. It is called
// before the first stage runs.
func (c *RunConfig) checkMix(ctx context.Context) error {
	m := c.Examples.Mix
	if !m.Enabled() {
		return nil
	}
	local, err := expandSources(ctx, c.Sources, func(string) {})
	if err != nil {
		return err
	}
	var names []string
	next := stems{}
	text := false
	for _, s := range local {
		if s.Kind == kindText && text {
			continue // all text files form one source
		}
		text = text || s.Kind == kindText
		names = append(names, next.next(s.Path))
	}
	if c.Download != nil {
		for _, q := range c.Download.Requests {
			names = append(names, fullName(m, downloadName(q)))
		}
	}
	return m.CheckNames(names)
}
