// Package report writes the statistics of a survey as one HTML page.
//
//	err := report.Write(w, stats)
//
// The page is self-contained: it includes its styles and drawings (SVG), has no
// script and loads nothing, so it can be mailed or archived with the data. It
// follows the reader's light or dark setting and prints on white.
//
// Its bytes are a function of the survey. Only the section "How it was made"
// depends on the run. All text from the data is escaped. The package keeps no
// state.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"

	"pretext/internal/humanize"
	"pretext/internal/plot"
	"pretext/internal/store"
	"pretext/sharding/survey"
)

//go:embed page.html
var pageText string

//go:embed style.css
var styleText string

// Write writes the statistics as an HTML page.
func Write(w io.Writer, s *survey.Stats) error {
	page, err := template.New("page").Funcs(functions()).Parse(pageText)
	if err != nil {
		panic("BUG: page.html: " + err.Error())
	}
	if err := page.Execute(w, newView(s)); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// A view is the data for the template of the page, in the order of the page.
type view struct {
	*survey.Stats
	Title  string
	Style  template.CSS
	Tiles  []tile
	Checks []check
	Odd    int // number of checks outside their limits
}

// A tile shows one of the most important numbers, at the top of the page.
type tile struct{ Name, Value, Note string }

// A check shows a fraction and its expected range.
type check struct {
	Name  string
	What  string // the whole, such as "of tokens"
	Share survey.Share
}

func newView(s *survey.Stats) *view {
	v := &view{Stats: s, Title: title(s.Path), Style: template.CSS(plot.Style + styleText)}
	v.addTiles()
	r := s.Records
	if r == nil {
		return v
	}
	if r.Masks() {
		v.Checks = []check{
			{"predicted", "of tokens", r.MaskRate},
			{"became [MASK]", "of predicted tokens", r.BecameMask},
			{"unchanged", "of predicted tokens", r.Kept},
			{"became another word", "of predicted tokens", r.Replaced},
		}
	}
	if r.Pairs() {
		v.Checks = append(v.Checks, check{"next sentence is random", "of examples", r.RandomNext})
		if r.LabelGuess != nil {
			v.Checks = append(v.Checks, check{"label told by the second segment's document", "of examples", *r.LabelGuess})
		}
	}
	for _, c := range v.Checks {
		if c.Share.Limits != nil && !c.Share.Limits.Within {
			v.Odd++
		}
	}
	return v
}

// title returns the name of the data set: the last element of its path. After "shards"
// and "documents", title also returns the element before it.
func title(path string) string {
	abs := store.Absolute(path)
	name := store.Base(abs)
	if name == "shards" || name == "documents" {
		name = store.Base(store.Dir(abs)) + "/" + name
	}
	return name
}

func (v *view) addTiles() {
	add := func(name, value, note string) { v.Tiles = append(v.Tiles, tile{name, value, note}) }
	if r := v.Records; r != nil {
		add("examples", count(r.Records), fmt.Sprintf("in %s, %s", files(r.Files), size(r.Bytes)))
		note := fmt.Sprintf("%s padding at %s positions each", percent(r.Padding), count(int64(r.MaxSeqLength)))
		if len(r.Forms) == 1 && r.Forms[0].Varies() {
			note = fmt.Sprintf("at most %s each, without padding", count(int64(r.MaxSeqLength)))
		}
		add("tokens", count(r.Tokens), note)
		if r.Pieces > 0 {
			add("pieces", count(r.Pieces), fmt.Sprintf("%.3g an example", float64(r.Pieces)/float64(max(1, r.Records))))
		}
	}
	for _, d := range v.Documents {
		add("documents", count(d.Documents), fmt.Sprintf("%s of text in %s", size(d.TextBytes), d.Folder))
	}
	if r := v.Records; r != nil {
		if r.Vocab.Size > 0 {
			add("vocabulary", count(int64(r.Vocab.Size)), fmt.Sprintf("%s of it occurs", percent(float64(r.Vocab.Used)/float64(r.Vocab.Size))))
		}
		if r.Unknown != nil {
			add("[UNK]", percent(r.Unknown.Share), fmt.Sprintf("%s of %s words and pieces", count(r.Unknown.Count), count(r.Unknown.Of)))
		}
		add("copies", count(r.Duplicates.Records), fmt.Sprintf("examples that are copies of another, %s of one in another file", count(r.Duplicates.Between)))
	}
}

func files(n int) string { return unbroken(humanize.Things(int64(n), "file")) }

func functions() template.FuncMap {
	return template.FuncMap{
		"count": anyCount, "size": size, "percent": percent, "files": files, "short": func(s string) string { return s[:min(len(s), 12)] },
		"lengths": lengths, "predictions": predictions, "textLengths": textLengths, "balance": balance, "band": band,
		"tokenBars": tokenBars, "nameBars": nameBars, "holeNotes": holeNotes, "options": survey.OptionList, "speed": speed, "join": strings.Join,
		"seconds": func(s float64) string { return humanize.Duration(time.Duration(s * float64(time.Second))) },
		"full": func(r *survey.RecordStats) float64 {
			for _, b := range r.Lengths {
				if b.Value == r.MaxSeqLength && r.Records > 0 {
					return float64(b.Count) / float64(r.Records)
				}
			}
			return 0
		},
		"orNone": func(s string) string {
			if s == "" {
				return "unknown"
			}
			return s
		},
	}
}
