package squad_test

import (
	"testing"

	"pretext/trainer/finetune/squad"
)

// Both programs answer alike if nobody sets an option.
func TestDefaultsAreThoseOfTheReferenceProgram(t *testing.T) {
	features, answers := squad.DefaultOptions(), squad.DefaultPredictOptions()
	if want := (squad.Options{MaxSeqLength: 384, DocStride: 128, MaxQueryLength: 64}); features != want {
		t.Errorf("got %+v, want %+v", features, want)
	}
	if want := (squad.PredictOptions{NBestSize: 20, MaxAnswerLength: 30}); answers != want {
		t.Errorf("got %+v, want %+v", answers, want)
	}
}
