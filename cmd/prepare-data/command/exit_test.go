package command

import (
	"fmt"
	"strings"
	"testing"

	"pretext/extract/bzip2"
	"pretext/extract/download"
	"pretext/extract/text"
	"pretext/internal/failure"
	"pretext/pipeline"
)

func TestAdviceFitsTheCause(t *testing.T) {
	again, resume := ": get the file again", ": run the same command again to resume"
	refused := fmt.Errorf("%w: %w", download.ErrNetwork, download.ErrRefused)
	for _, c := range []struct {
		code int
		err  error
		want string
	}{
		{failure.ExitDamaged, bzip2.ErrCorrupt, again},
		{failure.ExitDamaged, text.ErrCorrupt, again},
		{failure.ExitDamaged, download.ErrNetwork, ""},
		{failure.ExitNetwork, download.ErrNetwork, resume},
		{failure.ExitNetwork, bzip2.ErrCorrupt, ""},
		{failure.ExitNetwork, refused, ""},
		{failure.ExitUsage, download.ErrNetwork, ""},
	} {
		if got := advice(c.code, fmt.Errorf("x: %w", c.err), "m"); got != "m"+c.want {
			t.Errorf("exit code %d, %v: got %q, want %q", c.code, c.err, got, "m"+c.want)
		}
	}
}

// A line that is not JSON is answered by an error, and the next line is still split.
func TestSentencesOfLinesAreSplit(t *testing.T) {
	input := `{"text":"One. Two.","lang":"de"}` + "\n" + `{"text":` + "\n" + `{"text":"One. Two."}` + "\n"
	lines := filtered(t, input, "sentences", "--jsonl")
	for i, want := range []string{`{"sentences":["One.","Two."]}`, `{"error":"`, `{"sentences":["One.","Two."]}`} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d: got %q, want %q", i+1, lines[i], want)
		}
	}
}

func TestTheLanguageOfDumpsIsThatOfBooksAndText(t *testing.T) {
	var o pipeline.ExtractOptions
	o.Wiki.Language = "de"
	if shareLanguage(&o); o.Books.Lang != "de" || o.Text.Lang != "de" {
		t.Errorf("got %q and %q", o.Books.Lang, o.Text.Lang)
	}
}
