// Package card writes the dataset card that Hugging Face shows for a data set:
// a README.md with a YAML header and a Markdown text.
//
//	err := card.Write(w, stats, card.Options{Licences: []string{"cc-by-sa-4.0"}, Command: command})
//
// The card lists the content of the data, its sources (names, sizes, hashes,
// licences), its options, and how to make, check and read it. Keys and values of
// the YAML are those of the Hub's dataset cards: license, language,
// size_categories, task_categories, configs, dataset_info.
//
// The Python package datasets cannot read TFRecords, so configs name only
// documents: one config for each folder of documents. A card of records without
// documents has no config and disables the Hub's viewer, which would show
// side-cars instead.
//
// The card's bytes are a function of the survey and the options; nothing in it
// depends on the machine that made the data. The package keeps no state.
package card

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"

	"go.yaml.in/yaml/v3"

	"pretext/counts"
	"pretext/internal/humanize"
	"pretext/internal/store"
	"pretext/sharding/survey"
)

//go:embed card.md
var cardText string

// Options are the parts of a card that are not in the survey.
type Options struct {
	Name     string   // name of the data set; "": the base name of its path
	Licences []string // licence identifiers of the Hub ("cc-by-sa-4.0"); nil: the licences of the sources
	Command  string   // command that makes the data again; may have several lines
}

// front is the YAML header of a card, with the keys in the usual order.
type front struct {
	PrettyName string   `yaml:"pretty_name"`
	License    []string `yaml:"license"`
	Name       string   `yaml:"license_name,omitempty"`
	Language   []string `yaml:"language,omitempty"`
	Size       []string `yaml:"size_categories,omitempty"`
	Tasks      []string `yaml:"task_categories"`
	Tags       []string `yaml:"tags"`
	Viewer     *bool    `yaml:"viewer,omitempty"` // whether the Hub shows its viewer; nil: yes
	Configs    []config `yaml:"configs,omitempty"`
	Info       []info   `yaml:"dataset_info,omitempty"`
}

// A view is the data for the template of the card's text.
type view struct {
	*survey.Stats
	Front       string
	Name        string
	Command     string
	Configs     []config
	Made        *survey.DocumentStats // documents from which the examples were made; nil: unknown
	Check       string                // path to verify, relative to the card's folder
	RecordFiles string                // Python expression for the TFRecord files
	Reader      reader                // how to read examples in another format
	Exact       bool                  // the examples equal those of google-research/bert's script
	Sources     []source
	Unknown     bool // the licence is unknown
	Credit      *credit
	Gzip        bool // the files of records are compressed
}

// A credit names the wikis whose authors must be credited for the documents.
type credit struct {
	Wikis    []survey.Name // by the part of the page addresses before the title
	Licences string        // SPDX identifiers of the pages' licences; "" if unknown
}

// credits returns the wikis and licences of the first folder whose documents have
// addresses, or nil if there is none.
func credits(folders []*survey.DocumentStats) *credit {
	for _, d := range folders {
		if len(d.Wikis) == 0 {
			continue
		}
		var named []string
		for _, l := range d.Licenses {
			if l.Name != "" {
				named = append(named, l.Name)
			}
		}
		return &credit{d.Wikis, strings.Join(named, ", ")}
	}
	return nil
}

// plainURL escapes the characters of an address that would end a Markdown link.
func plainURL(address string) string {
	return strings.NewReplacer("<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\r", "").Replace(address)
}

// A source is a file or download from which the data was made.
type source struct {
	Name, URL, Licence, SHA256 string
	Bytes                      int64
}

// Write writes the dataset card of the surveyed data set.
func Write(w io.Writer, s *survey.Stats, o Options) error {
	if o.Name == "" {
		o.Name = store.Base(store.Absolute(s.Path))
	}
	v := &view{Stats: s, Name: o.Name, Command: o.Command, Sources: sources(s), Configs: configs(s), Exact: exact(s)}
	if s.Records != nil && s.Records.Format != "" {
		v.Reader = converted(s)
	}
	if n := len(s.Documents); n > 0 {
		v.Made = s.Documents[n-1]
		v.Credit = credits(s.Documents)
	}
	v.addFiles()
	f := v.front(o)
	v.Unknown = slices.Contains(f.License, unknownLicence)
	var err error
	if v.Front, err = marshal(f); err != nil {
		return fmt.Errorf("write card: %w", err)
	}
	t, err := template.New("card").Funcs(template.FuncMap{"text": text, "url": plainURL, "code": code, "percent": humanize.Percent, "count": humanize.Count, "size": humanize.Bytes, "figures": func(d *survey.DocumentStats) []survey.Figure { return d.Figures(counts.Card) }, "things": things, "options": survey.OptionList, "feature": features, "kind": kind, "container": container, "parser": parser, "python": pythonString, "shell": ShellWord}).Parse(cardText)
	if err != nil {
		panic("BUG: card.md: " + err.Error())
	}
	if err := t.Execute(w, v); err != nil {
		return fmt.Errorf("write card: %w", err)
	}
	return nil
}

func marshal(f front) (string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	err := enc.Encode(f)
	return b.String(), err
}

func (v *view) front(o Options) front {
	f := front{PrettyName: o.Name, License: o.Licences, Tasks: []string{"fill-mask"},
		Tags: tags(v.Records), Language: languages(v.Stats)}
	if len(f.License) == 0 {
		f.License = licences(v.Sources)
		if slices.Equal(f.License, []string{unknownLicence}) {
			f.License = documentLicences(v.Documents)
		}
	}
	if slices.Contains(f.License, "other") {
		f.Name = "see-sources"
	}
	if r := v.Records; r != nil {
		f.Size = []string{sizeCategory(r.Records)}
	}
	if f.Configs = v.Configs; len(f.Configs) == 0 {
		f.Viewer = new(bool)
	}
	for _, c := range f.Configs {
		f.Info = append(f.Info, info{c.Name, documentFeatures})
	}
	return f
}

// sizeCategory returns the Hub's size_categories value for n examples, such as
// "1K<n<10K".
func sizeCategory(n int64) string {
	names := []string{"1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T"}
	limit := int64(1000)
	for i, name := range names {
		if n < limit {
			if i == 0 {
				return "n<" + name
			}
			return names[i-1] + "<n<" + name
		}
		limit *= 10
	}
	return "n>1T"
}

// languageCode matches the language codes that the Hub accepts: ISO 639-1 and 639-3.
var languageCode = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z]{2,3}$`) })

func languages(s *survey.Stats) (codes []string) {
	for _, d := range s.Documents {
		for _, l := range d.Languages {
			code, _, _ := strings.Cut(strings.ToLower(l.Name), "-")
			if languageCode().MatchString(code) && !slices.Contains(codes, code) {
				codes = append(codes, code)
			}
		}
	}
	slices.Sort(codes)
	return codes
}

// unknownLicence is the Hub's identifier for an unknown licence.
const unknownLicence = "unknown"

// licences returns the licences of the sources as Hub identifiers.
func licences(sources []source) (ids []string) {
	for _, s := range sources {
		var of []string
		switch l := strings.ToLower(s.Licence); {
		case l == "" || l == "not known":
			of = []string{unknownLicence}
		case strings.Contains(l, "cc by-sa 4.0"):
			of = []string{"cc-by-sa-4.0"}
			if strings.Contains(l, "gfdl") {
				of = append(of, "gfdl")
			}
		default:
			of = []string{"other"}
		}
		for _, id := range of {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return []string{unknownLicence}
	}
	slices.Sort(ids)
	return ids
}

// documentLicences returns the licences of the documents as Hub identifiers. If some
// documents have no licence, the result includes [unknownLicence].
func documentLicences(folders []*survey.DocumentStats) (ids []string) {
	for _, d := range folders {
		for _, l := range d.Licenses {
			id := unknownLicence
			if l.Name != "" && l.Name != "(others)" {
				id = strings.ToLower(l.Name)
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return []string{unknownLicence}
	}
	slices.Sort(ids)
	return ids
}

// sources returns the sources of the first stage. These are its downloads or, without
// downloads, all stage inputs that are not the output of another stage.
func sources(s *survey.Stats) (list []source) {
	for _, stage := range s.Stages {
		for _, d := range stage.Downloads {
			list = append(list, source{d.Name, d.URL, d.Licence, d.SHA256, d.Bytes})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, stage := range s.Stages {
		if stage.Stage != "extract" {
			continue
		}
		for _, in := range stage.Inputs {
			list = append(list, source{Name: in.Name, SHA256: in.SHA256, Bytes: in.Bytes})
		}
	}
	return list
}
