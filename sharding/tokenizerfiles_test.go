package sharding

import (
	"bytes"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/tokenize"
	"pretext/tokenize/hf"
)

// The files are kept for the next stage of a run, but not for another vocabulary or case.
func TestTokenizerFilesAreThoseOfTheirVocabulary(t *testing.T) {
	raw := []byte(strings.Join(append(tokenize.SpecialTokens(), "be", "##ta\n"), "\n"))
	for i := range 4 {
		for _, lower := range []bool{true, false, false, true} {
			o := DefaultExamplesOptions()
			o.DoLowerCase = lower
			got, err := o.TokenizerFiles(raw)
			if err != nil {
				t.Fatal(err)
			}
			v, err := tokenize.ReadVocab(VocabName, raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(hf.BERTFiles(v, o.wordPiece()), got); diff != "" {
				t.Errorf("%d, lower case %t: (-want +got)\n%s", i, lower, diff)
			}
			got[0] = hf.File{} // the caller's own
		}
		copy(raw[bytes.Index(raw, []byte("##")):], "##"+string(rune('a'+i)))
	}
}
