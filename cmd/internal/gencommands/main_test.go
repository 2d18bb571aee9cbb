package main

import (
	"strings"
	"testing"

	preparedata "pretext/cmd/prepare-data/command"
	trainbert "pretext/cmd/train-bert/command"
)

func TestTheReferenceHoldsEveryCommandAndNothingOfTheMachine(t *testing.T) {
	got := Reference(preparedata.NewRoot(), trainbert.NewRoot())
	for _, want := range []string{"\n### prepare-data run\n", "\n### train-bert finetune squad\n", "--max-seq-length int", "\nDownloaded sources:\n", "; default: one per processor\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the reference", want)
		}
	}
	if again := Reference(preparedata.NewRoot(), trainbert.NewRoot()); again != got {
		t.Error("the reference differs from one time to the next")
	}
	if strings.Contains(got, " \n") {
		t.Error("a line ends in a space")
	}
}
