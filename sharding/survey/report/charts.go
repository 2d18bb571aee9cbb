package report

import (
	"fmt"
	"html/template"
	"math"

	"pretext/internal/humanize"
	"pretext/internal/plot"
	"pretext/sharding/survey"
)

// A figure is a chart, or a sentence if a chart would have at most one bar.
type figure struct {
	Chart    template.HTML
	Sentence string
}

// newFigure draws a histogram. If no bar is filled, the figure is the sentence none. If
// only one bar is filled, the figure is the sentence that the function only returns for
// this bar.
func newFigure(h plot.Histogram, none string, only func(plot.Bar) string) figure {
	switch n, last := h.Filled(); n {
	case 0:
		return figure{Sentence: none}
	case 1:
		return figure{Sentence: only(last)}
	}
	return figure{Chart: h.SVG()}
}

// maxColumns is the maximum number of columns of a histogram.
const maxColumns = 128

// columns groups the values from 0 to most into at most maxColumns bars of equal width.
func columns(bins []survey.Bin, most int, unit string) (bars []plot.Bar) {
	width := max(1, (most+maxColumns)/maxColumns)
	bars = make([]plot.Bar, most/width+1)
	for _, b := range bins {
		bars[min(b.Value/width, len(bars)-1)].N += b.Count
	}
	for i := range bars {
		b := &bars[i]
		b.From, b.To = float64(i*width)-0.5, float64((i+1)*width)-0.5
		b.Title = fmt.Sprintf("%s %s: %s", spread(*b), unit, humanize.Things(b.N, "example"))
	}
	return bars
}

// spread returns the range of whole numbers in a bar, as text.
func spread(b plot.Bar) string {
	from, to := int64(math.Ceil(b.From)), int64(math.Floor(b.To))
	if from == to {
		return count(from)
	}
	return count(from) + " to " + count(to)
}

func lengths(r *survey.RecordStats) figure {
	return newFigure(plot.Histogram{Name: "examples by their tokens", X: "tokens of an example, [CLS] and [SEP] included", Y: "examples",
		Bars: columns(r.Lengths, r.MaxSeqLength, "tokens")}, "No examples.",
		func(b plot.Bar) string { return "All examples have " + spread(b) + " tokens." })
}

func predictions(r *survey.RecordStats) figure {
	return newFigure(plot.Histogram{Name: "examples by their predictions", X: "predicted tokens of an example", Y: "examples",
		Bars: columns(r.Masked, r.MaxPredictionsPerSeq, "predictions")}, "No examples.",
		func(b plot.Bar) string { return "All examples have " + spread(b) + " predicted tokens." })
}

// textLengths draws a histogram of documents by text length, with a bar for each power of
// two.
func textLengths(d *survey.DocumentStats) figure {
	h := plot.Histogram{Name: "documents by their length", X: "text of a document", Y: "documents", Log: true, Unit: plot.Bytes}
	for at := 0; at < len(d.Lengths); {
		v := max(1, d.Lengths[0].Value) // documents without text are shown with those of one byte
		if n := len(h.Bars); n > 0 {
			v = int(h.Bars[n-1].To)
		}
		b := plot.Bar{From: float64(v), To: float64(2 * v)}
		for ; at < len(d.Lengths) && d.Lengths[at].Value < 2*v; at++ {
			b.N += d.Lengths[at].Count
		}
		b.Title = fmt.Sprintf("%s to %s: %s", size(int64(v)), size(2*int64(v)), humanize.Things(b.N, "document"))
		h.Bars = append(h.Bars, b)
	}
	return newFigure(h, "No documents.", func(b plot.Bar) string {
		return fmt.Sprintf("All documents have %s to %s of text.", size(int64(b.From)), size(int64(b.To)))
	})
}

// maxShards is the maximum number of columns in the chart of file sizes. If there are
// more files, a column shows the mean of several neighbouring files.
const maxShards = 180

func balance(s survey.Split) figure {
	h := plot.Histogram{Name: "examples in each file", X: "files, by number", Y: "examples"}
	values := s.Records.Files
	group := max(1, (len(values)+maxShards-1)/maxShards)
	for i := 0; i < len(values); i += group {
		end := min(i+group, len(values))
		sum := int64(0)
		for _, v := range values[i:end] {
			sum += v
		}
		b := plot.Bar{From: float64(i) - 0.5, To: float64(end) - 0.5, N: sum / int64(end-i)}
		b.Title = fmt.Sprintf("file %d: %s", i, humanize.Things(b.N, "example"))
		if group > 1 {
			b.Title = fmt.Sprintf("files %d to %d: %s on average", i, end-1, humanize.Things(b.N, "example"))
		}
		h.Bars = append(h.Bars, b)
	}
	return newFigure(h, "No examples.", func(b plot.Bar) string {
		if len(values) == 1 {
			return "One file holds them all."
		}
		return fmt.Sprintf("Of %s only %s holds examples.", files(len(values)), "file "+spread(b))
	})
}

// band draws a fraction and its expected range.
func band(s survey.Share) template.HTML {
	l := s.Limits
	if l == nil {
		return ""
	}
	return plot.Band{Value: s.Share, Low: l.Low, High: l.High, Expected: l.Expected, Within: l.Within, Format: percent}.SVG()
}

// A row is a line of a table: a name, a value and a bar.
type row struct {
	Name, Note string
	Count      int64
	Share      float64
	Bar        template.HTML // bar proportional to the largest value; "" if the table has only one row
}

func rows(list []row) []row {
	most := int64(1)
	for _, r := range list {
		most = max(most, r.Count)
	}
	for i, r := range list {
		if len(list) > 1 {
			list[i].Bar = plot.Proportion(float64(r.Count) / float64(most))
		}
	}
	return list
}

// shownTokens is the number of the most frequent tokens that the page shows.
const shownTokens = 40

// tokenBars returns the rows of the table of tokens, divided into two columns.
func tokenBars(r *survey.RecordStats) [][]row {
	var list []row
	for _, t := range r.Top[:min(len(r.Top), shownTokens)] {
		name := t.Token
		if name == "" {
			name = fmt.Sprintf("id %d", t.ID)
		}
		list = append(list, row{Name: name, Count: t.Count, Share: t.Share})
	}
	list = rows(list)
	half := (len(list) + 1) / 2
	return [][]row{list[:half], list[half:]}
}

func nameBars(names []survey.Name, total int64) []row {
	var list []row
	for _, n := range names {
		r := row{Name: n.Name, Count: n.Count}
		if total > 0 {
			r.Share = float64(n.Count) / float64(total)
		}
		if n.Bytes > 0 {
			r.Note = size(n.Bytes)
		}
		list = append(list, r)
	}
	return rows(list)
}
