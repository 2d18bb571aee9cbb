package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pretext/internal/failure"
)

// filtered runs a command on standard input and returns its lines.
func filtered(t *testing.T, input string, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	root := NewRoot()
	root.SetIn(strings.NewReader(input))
	root.SetOut(&out)
	root.SetArgs(args)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// The rules of a wiki hold for its pages only; a line may name another wiki or language
// than the flags.
func TestTextOfAPageOfANamedWiki(t *testing.T) {
	const suffix, mountain = `From {{suffix|en|morn|ing}}.`, `It is {{formatnum:1234}} m high.`
	rules := "From morn + -ing."
	if got := filtered(t, suffix, "text", "--wiki-name", "enwiktionary"); got[0] != rules {
		t.Errorf("got %q, want %q", got, rules)
	}
	if got := filtered(t, mountain, "text", "--wiki-name", "dewiki"); got[0] != "It is 1.234 m high." {
		t.Errorf("got %q: the wiki has a language", got)
	}
	input := `{"wikitext":"` + suffix + `"}` + "\n" + `{"wikitext":"` + suffix + `","wiki":"enwiki"}` + "\n" +
		`{"wikitext":"` + suffix + `","wiki":"../x"}` + "\n" + `{"wikitext":"` + mountain + `","lang":"de"}` + "\n" +
		`{"wikitext":"` + mountain + `","wiki":"dewikipedia"}` + "\n" + `{"wikitext":"` + mountain + `","wiki":"dewikipedia","lang":"de"}` + "\n"
	got := filtered(t, input, "text", "--jsonl", "--wiki-name", "enwiktionary")
	for i, want := range []string{`{"text":"` + rules + `"}`, `{"text":"From."}`, `{"error":"wiki \"../x\": not the name of a wiki, such as dewiktionary"}`, `{"text":"It is 1.234 m high."}`,
		`{"error":"wiki \"dewikipedia\": not a wiki of known language, such as dewiktionary: give its language too"}`, `{"text":"It is 1.234 m high."}`} {
		if i >= len(got) || got[i] != want {
			t.Errorf("line %d: got %q, want %q", i+1, got, want)
		}
	}
}

// A file of templates that holds for no line is refused, after the lines.
func TestTemplatesForNoLineAreRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "templates.txt")
	if err := os.WriteFile(file, []byte("[frwiki]\ntemplate zzq | arg 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for wiki, fails := range map[string]bool{"dewiki": true, "frwiki": false} {
		var out bytes.Buffer
		root := NewRoot()
		root.SetIn(strings.NewReader(`{"wikitext":"a {{zzq|b}}","wiki":"` + wiki + `"}` + "\n"))
		root.SetOut(&out)
		root.SetArgs([]string{"text", "--jsonl", "--templates", file})
		err := root.ExecuteContext(t.Context())
		if (err != nil) != fails || fails && failure.ExitCode(err) != failure.ExitUsage || !strings.HasPrefix(out.String(), `{"text":"a`) {
			t.Errorf("%s: %v, %q", wiki, err, out.String())
		}
	}
}
