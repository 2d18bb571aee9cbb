package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"pretext/sharding/survey"
)

// stats prints numbers before lists, because a wiki has thousands of templates.
func TestStatsShowNumbersBeforeLists(t *testing.T) {
	s := &survey.Stats{
		Documents: []*survey.DocumentStats{{Folder: "documents", Documents: 12345, TextBytes: 5_000_000_000, Lengths: []survey.Bin{{Value: 1024, Count: 12345}}}},
		Records: &survey.RecordStats{Records: 98765, Files: 1, MaxSeqLength: 128, Padding: 0.000001, Lengths: []survey.Bin{{Value: 128, Count: 98765}},
			Top: []survey.Token{{ID: 1996, Token: "the", Count: 40000, Share: 0.06}}},
	}
	for i := range 50 {
		s.Documents[0].Dropped = append(s.Documents[0].Dropped, survey.Name{Name: fmt.Sprintf("template %d\n", i), Count: 1})
	}
	var out bytes.Buffer
	if err := printStats(&out, s); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"documents in documents", "12,345", "5.0 GB of text", "records", "98,765", "in 1 file,", "padding < 0.01 %", "bytes of text of a document", "1,024",
		"tokens of a record", "100.00 % █", "most frequent tokens", "40,000", "6.00 %", "templates without text", "template 19;", "and 30 more: see --json"} {
		i := strings.Index(out.String()[at:], want)
		if i < 0 {
			t.Fatalf("no %q after %q in\n%s", want, out.String()[:at], out.String())
		}
		at += i
	}
}
