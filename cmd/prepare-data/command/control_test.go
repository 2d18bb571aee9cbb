package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"pretext/internal/dev/realdata"
	"pretext/records"
	"pretext/records/tfrecord"
)

// A file name may contain control characters, which could move the cursor or colour
// the terminal. No output of a command about such a file contains them.
func TestNoOutputHoldsControlCharactersOfNames(t *testing.T) {
	t.Chdir(t.TempDir())
	const folder = "a\x1b[31m\rb"
	if err := os.Mkdir(folder, 0o777); err != nil {
		realdata.Missing(t, "no names with control characters: "+err.Error())
	}
	e := &records.Example{InputIDs: []int32{1, 2}, InputMask: []int32{1, 1}, SegmentIDs: []int32{0, 0}, MaskedLMPositions: []int32{1}, MaskedLMIDs: []int32{2}, MaskedLMWeights: []float32{1}}
	frame := tfrecord.AppendFrame(nil, e.Append(nil))
	for name, data := range map[string][]byte{"x\x1b[2J.tfrecord": frame, "y\x07.tfrecord": frame[:9]} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sound := filepath.Join(folder, "x\x1b[2J.tfrecord")
	for _, args := range [][]string{
		{"verify", folder}, {"verify", sound}, {"inspect", folder}, {"head", "--json", "-n=0", sound}, {"head", sound}, {"head", folder}, {"stats", sound}, {"stats", folder},
		{"diff", sound, folder}, {"report", folder, "--out", folder + ".html"}, {"card", folder, "--out", folder + ".md"}, {"convert", sound, "--to", "npy", "--out", folder + "/npy"},
		{"export", sound, "--out", folder + "/text"}, {"run", "--books", folder, "--out", folder + "/run"}, {"plan", "--books", folder}, {"plan", "--wiki-dump", sound}, {folder}, {"run", "--" + folder}, {"filter", folder}, {"vocab", folder},
	} {
		var out bytes.Buffer
		root := NewRoot()
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(args)
		Report(&out, root.ExecuteContext(t.Context()))
		if i := strings.IndexFunc(out.String(), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || out.Len() == 0 {
			t.Errorf("%q: %q", args, &out)
		}
	}
}
