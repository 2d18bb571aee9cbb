package squad

import (
	"bufio"
	"io"

	"pretext/trainer/finetune/internal/pyrepr"
)

// WriteAnswers writes predictions.json in the format of json.dumps(…,
// indent=4), as the reference does.
func WriteAnswers(w io.Writer, d *Dataset, predictions []Prediction) error {
	return writeObject(w, d, predictions, func(dst []byte, p Prediction) []byte { return pyrepr.AppendString(dst, p.Text) })
}

// WriteOdds writes null_odds.json in the same format as [WriteAnswers].
func WriteOdds(w io.Writer, d *Dataset, predictions []Prediction) error {
	return writeObject(w, d, predictions, func(dst []byte, p Prediction) []byte { return pyrepr.AppendFloat(dst, p.NullOdds, 64) })
}

// WriteNBest writes nbest_predictions.json in the same format as
// [WriteAnswers].
func WriteNBest(w io.Writer, d *Dataset, predictions []Prediction) error {
	return writeObject(w, d, predictions, func(dst []byte, p Prediction) []byte {
		dst = append(dst, '[')
		for i, c := range p.NBest {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, "\n        {\n            \"text\": "...)
			dst = pyrepr.AppendString(dst, c.Text)
			dst = appendNumber(dst, "probability", c.Probability)
			dst = appendNumber(dst, "start_logit", c.StartLogit)
			dst = appendNumber(dst, "end_logit", c.EndLogit)
			dst = append(dst, "\n        }"...)
		}
		return append(dst, "\n    ]"...)
	})
}

func appendNumber(dst []byte, name string, v float64) []byte {
	dst = append(dst, ",\n            \""...)
	dst = append(append(dst, name...), "\": "...)
	return pyrepr.AppendFloat(dst, v, 64)
}

// writeObject writes an object from question id to value.
func writeObject(w io.Writer, d *Dataset, predictions []Prediction, value func([]byte, Prediction) []byte) error {
	out := bufio.NewWriter(w)
	line := []byte("{")
	for i, p := range predictions {
		if i > 0 {
			line = append(line, ',')
		}
		line = append(line, "\n    "...)
		line = append(pyrepr.AppendString(line, d.Questions[p.Question].ID), ": "...)
		line = value(line, p)
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = line[:0]
	}
	if len(predictions) > 0 {
		line = append(line, '\n')
	}
	if _, err := out.Write(append(line, "}\n"...)); err != nil {
		return err
	}
	return out.Flush()
}
