package survey

import (
	"math"
	"slices"

	"pretext/sharding"
)

// A Split describes how evenly records, tokens and bytes are spread over the files of one
// split.
type Split struct {
	Split   string  `json:"split"` // train or eval; "" if the file names contain no split
	Files   int     `json:"files"`
	Records Balance `json:"records"`
	Tokens  Balance `json:"tokens"`
	Bytes   Balance `json:"bytes"`
}

// A Balance describes how evenly a quantity is spread over files.
type Balance struct {
	Total  int64   `json:"total"`
	Min    int64   `json:"min"`
	Median int64   `json:"median"` // lower median: for an even number of values, the lower of the two middle ones
	Max    int64   `json:"max"`
	CV     float64 `json:"cv"`    // standard deviation divided by mean
	Files  []int64 `json:"files"` // value of each file, in the order of file names
}

func balance(values []int64) Balance {
	b := Balance{Files: values}
	if len(values) == 0 {
		return b
	}
	sorted := slices.Sorted(slices.Values(values))
	b.Min, b.Median, b.Max = sorted[0], sorted[(len(sorted)-1)/2], sorted[len(sorted)-1]
	for _, v := range values {
		b.Total += v
	}
	mean := float64(b.Total) / float64(len(values))
	if mean == 0 {
		return b
	}
	var squares float64
	for _, v := range values {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	b.CV = math.Sqrt(squares/float64(len(values))) / mean
	return b
}

// splits returns the splits that have files.
func (s *recordSurvey) splits() (list []Split) {
	for _, side := range []string{sharding.Train, sharding.Eval, ""} {
		var records, tokens, bytes []int64
		for _, f := range s.files {
			if f.Split == side {
				records, tokens, bytes = append(records, f.records), append(tokens, f.tokens), append(bytes, f.Bytes)
			}
		}
		if len(records) > 0 {
			list = append(list, Split{side, len(records), balance(records), balance(tokens), balance(bytes)})
		}
	}
	return list
}
