package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestOnlyWhatDiffersFromGoogleIsWritten(t *testing.T) {
	probe := strings.Join([]string{
		"41\taab\taAb\ta\U0001d16da\U0001d165b",    // as Google
		"e000\tab\tab\ta\U0001d165\U0001d16db",     // deleted
		"e001\tab\tab\ta\U0001d165\U0001d16db",     // the same: one range
		"2b820\ta𫠠b\ta𫠠b\ta\U0001d16d𫠠\U0001d165b", // no ideograph
	}, "\n")
	var got bytes.Buffer
	if err := run(strings.NewReader(probe), &got); err != nil {
		t.Fatal(err)
	}
	const want = "var hfClasses = [...]classRange{\n\t{0xe000, 0xe001, kindRemove, 0},\n\t{0x2b820, 0x2b820, kindKeep, 0},\n}\n"
	if !strings.HasSuffix(got.String(), want) {
		t.Errorf("got %s, want the end %s", got.String(), want)
	}
	for _, line := range []string{"41", "xyz\ta\tb\tc", "41\tx y z w\tq\t"} {
		if err := run(strings.NewReader(line), &got); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}
