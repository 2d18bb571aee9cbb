package command

import (
	"bytes"
	"os"
	"testing"
)

func TestColorsAreOneOfThreeWords(t *testing.T) {
	c := colorMode("auto")
	for _, word := range []string{"never", "always", "auto"} {
		if err := c.Set(word); err != nil || c.String() != word {
			t.Errorf("%s: got %s, %v", word, c, err)
		}
	}
	if err := c.Set("sometimes"); err == nil || c != "auto" {
		t.Errorf("sometimes: got %s, %v, want an error and no change", c, err)
	}
}

func TestColorsAreForTerminalsThatWantThem(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	none := func(string) string { return "" }
	noColor := func(name string) string { return map[string]string{"NO_COLOR": "1"}[name] }
	if colorMode("auto").colors(file, none) || colorMode("auto").colors(new(bytes.Buffer), none) {
		t.Error("a file has colors")
	}
	if !colorMode("always").colors(file, noColor) || colorMode("never").colors(file, none) {
		t.Error("--color always and never do not decide")
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Logf("the rest was not checked: no pseudo-terminal: %v", err)
		return
	}
	defer terminal.Close()
	for name, c := range map[string]struct {
		env  map[string]string
		want bool
	}{
		"a terminal":    {nil, true},
		"NO_COLOR":      {map[string]string{"NO_COLOR": "1"}, false},
		"empty":         {map[string]string{"NO_COLOR": ""}, true},
		"dumb terminal": {map[string]string{"TERM": "dumb"}, false},
		"a usual one":   {map[string]string{"TERM": "xterm-256color"}, true},
	} {
		if got := colorMode("auto").colors(terminal, func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
