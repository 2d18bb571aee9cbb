package squad_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
	"pretext/trainer/finetune/squad"
)

// madeUp is the logit that testdata/run_squad_hashes.py gives.
func madeUp(window, token, column int) float32 {
	x := uint32(window*7919+token*104729+column*15485863+12345) * 2654435761
	distance := token - 40
	if distance < 0 {
		distance = -distance
	}
	return float32((x>>8)%2048)/128 - float32(distance)/4
}

// The hashes are those of what run_squad.py wrote: see testdata/run_squad_hashes.py.
func TestPredictionFilesAreThoseOfRunSquad(t *testing.T) {
	v, err := tokenize.ReadVocab("vocab.txt", realdata.Read(t, "vocab/bert-base-uncased-vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file              string
		questions         int
		o                 squad.Options
		predictions, odds string
	}{
		{"squad/squad-v1.1-dev-part.json", 500, squad.Options{MaxSeqLength: 96, DocStride: 32, MaxQueryLength: 24},
			"ff661fa2974a82466ad514c835206128dcfbe7c71b71f1cc33fff6c57148e15f", ""},
		{"squad/squad-v1.1-dev-part.json", 500, squad.Options{MaxSeqLength: 128, DocStride: 64, MaxQueryLength: 64, Negatives: true},
			"30ff48429fe0a5a3aeecb75e8fc024b4dbbd4ed364d458b798353ea3221c88ff", "0c22b61c672836f50aa39697131eb7d31eb1e8fa254bfab6cc9fffb839377703"},
		{"squad/squad-v2.0-dev-tiny.json", 14, squad.Options{MaxSeqLength: 384, DocStride: 128, MaxQueryLength: 64, Negatives: true},
			"31dcc357acb5b713178aaa0eef0ab3a45816b67af5ce6cb261fbc9728b6e0810", "d34ff457766f06dc541c5dab2935060ec8839611b2f943e00ce2259b3652a941"},
	} {
		d, err := squad.Read(c.file, realdata.Read(t, c.file))
		if err != nil {
			t.Fatal(err)
		}
		d.Questions = d.Questions[:c.questions]
		c.o.Pad = true
		f, err := squad.NewFeatures(d, tok.NewEncoder(), c.o, squad.Predict)
		if err != nil {
			t.Fatal(err)
		}
		options := squad.DefaultPredictOptions()
		options.NullThreshold = 0.25
		p, err := squad.NewPredictor(f, options)
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Len() {
			logits := make([]float32, 0, 2*c.o.MaxSeqLength)
			for token := range c.o.MaxSeqLength {
				logits = append(logits, madeUp(i, token, 0), madeUp(i, token, 1))
			}
			if err := p.Take(i, logits); err != nil {
				t.Fatal(err)
			}
		}
		if got := hashOf(t, squad.WriteAnswers, d, p); got != c.predictions {
			t.Errorf("%s, %+v: predictions.json has the hash %s, want %s", c.file, c.o, got, c.predictions)
		}
		if c.odds == "" {
			continue
		}
		if got := hashOf(t, squad.WriteOdds, d, p); got != c.odds {
			t.Errorf("%s, %+v: null_odds.json has the hash %s, want %s", c.file, c.o, got, c.odds)
		}
	}
}

func hashOf(t *testing.T, write func(io.Writer, *squad.Dataset, []squad.Prediction) error, d *squad.Dataset, p *squad.Predictor) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, d, p.Predictions()); err != nil {
		t.Fatal(err)
	}
	h := sha256.Sum256(b.Bytes())
	return hex.EncodeToString(h[:])
}
