package card_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"pretext/counts"
	"pretext/sharding"
	"pretext/sharding/survey"
	"pretext/sharding/survey/card"
)

const hostile = "a|b`c` <script>: \"x\"\n# not a heading"

func sample() *survey.Stats {
	return &survey.Stats{
		Path: "/data/wiki",
		Stages: []survey.Stage{
			{Stage: "extract", Folder: "documents", Manifest: "m1", Options: json.RawMessage(`{"a":{"b":"x|y"}}`), Inputs: []sharding.Input{{Name: hostile, Bytes: 12, SHA256: "abc"}}},
			{Stage: "examples", Folder: "shards", Options: json.RawMessage(`{"compression":"gzip"}`), Counts: sharding.Counts{counts.KeyOf("records"): 2000}, Manifest: "m2"},
		},
		Documents: []*survey.DocumentStats{{Folder: "documents", Documents: 7, Languages: []survey.Name{{Name: "pt-BR", Count: 3}, {Name: "", Count: 1}, {Name: "(others)", Count: 1}, {Name: "en", Count: 2}}}},
		Records: &survey.RecordStats{Files: 2, Records: 2000, MaxSeqLength: 64, MaxPredictionsPerSeq: 10, Padding: 0.25,
			Splits: []survey.Split{{Split: "train", Files: 1}, {Split: "eval", Files: 1}}},
	}
}

func write(t *testing.T, s *survey.Stats, o card.Options) (front map[string]any, body string) {
	t.Helper()
	var b bytes.Buffer
	if err := card.Write(&b, s, o); err != nil {
		t.Fatal(err)
	}
	rest, ok := strings.CutPrefix(b.String(), "---\n")
	head, body, ok2 := strings.Cut(rest, "\n---\n")
	if !ok || !ok2 {
		t.Fatalf("no front matter in\n%s", b.String())
	}
	if err := yaml.Unmarshal([]byte(head), &front); err != nil {
		t.Fatalf("%v in\n%s", err, head)
	}
	return front, body
}

func TestTheFrontMatterIsWhatTheHubReads(t *testing.T) {
	got, _ := write(t, sample(), card.Options{Name: hostile, Licences: []string{"cc-by-sa-4.0", "gfdl"}})
	want := map[string]any{
		"pretty_name": hostile, "license": []any{"cc-by-sa-4.0", "gfdl"}, "language": []any{"en", "pt"}, "size_categories": []any{"1K<n<10K"},
		"task_categories": []any{"fill-mask"}, "tags": []any{"bert", "pretraining", "masked-language-modeling", "next-sentence-prediction", "tfrecord"},
		"configs": []any{map[string]any{"config_name": "documents", "description": "content m1", "data_files": []any{map[string]any{"split": "train", "path": "documents/*.jsonl.zst"}}}},
		"dataset_info": []any{map[string]any{"config_name": "documents", "features": []any{
			map[string]any{"name": "id", "dtype": "string"}, map[string]any{"name": "text", "dtype": "string"}, map[string]any{"name": "source", "dtype": "string"},
			map[string]any{"name": "metadata", "struct": []any{map[string]any{"name": "title", "dtype": "string"}, map[string]any{"name": "lang", "dtype": "string"},
				map[string]any{"name": "url", "dtype": "string"}, map[string]any{"name": "revision", "dtype": "int64"}, map[string]any{"name": "timestamp", "dtype": "string"}, map[string]any{"name": "license", "dtype": "string"}}}}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// load_dataset refuses names with signs of paths, and two configs of one name or
// two defaults.
func TestConfigsNameTheDocumentsAlone(t *testing.T) {
	for _, c := range []struct {
		folders []string
		want    []string // name, path, * for the default
	}{
		{nil, nil},
		{[]string{"."}, []string{"documents *.jsonl.zst"}},
		{[]string{"documents", "filtered"}, []string{"documents documents/*.jsonl.zst", "filtered filtered/*.jsonl.zst *"}},
		{[]string{"shards/imported"}, []string{"shards-imported shards/imported/*.jsonl.zst"}},
		{[]string{"a b[1]", "a:b*1?"}, []string{"a-b-1 a b[[]1]/*.jsonl.zst", "a-b-1-1 a:b[*]1[?]/*.jsonl.zst *"}},
		{[]string{"données", "..."}, []string{"données données/*.jsonl.zst", "documents .../*.jsonl.zst *"}},
	} {
		s := sample()
		s.Documents = nil
		for _, folder := range c.folders {
			s.Documents = append(s.Documents, &survey.DocumentStats{Folder: folder, Documents: 1})
		}
		s.Documents = append(s.Documents, &survey.DocumentStats{Folder: "empty"}) // load_dataset refuses a config without rows
		front, _ := write(t, s, card.Options{})
		var got []string
		configs, _ := front["configs"].([]any)
		for _, each := range configs {
			config := each.(map[string]any)
			line := fmt.Sprint(config["config_name"], " ", config["data_files"].([]any)[0].(map[string]any)["path"])
			if config["default"] == true {
				line += " *"
			}
			got = append(got, line)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%q: %s", c.folders, d)
		}
		if viewer := front["viewer"]; (viewer == false) != (c.want == nil) {
			t.Errorf("%q: got viewer: %v", c.folders, viewer)
		}
	}
}

func TestRecordsAreReadByTheirNames(t *testing.T) {
	for _, c := range []struct {
		path string
		bare []string
		want []string
	}{
		{"/data/wiki", nil, []string{`glob("shards/train-*.tfrecord.gz"), compression_type="GZIP"`, "verify .\n"}},
		{"/data/part-0", []string{"part-0"}, []string{`TFRecordDataset(["part-0"])`, "verify part-0\n"}},
		{"/data/my wiki", []string{"my wiki"}, []string{`TFRecordDataset(["my wiki"])`, "verify 'my wiki'\n"}},
		{"/data", []string{"a.gz", `b".gz`}, []string{`TFRecordDataset(["a.gz", "b\".gz"], compression_type="GZIP")`, "verify .\n"}},
		{"/data", []string{"x1.tfrecord", "x2.tfrecord", "x3.tfrecord", "x4.tfrecord", "x5.tfrecord"}, []string{`sorted(tf.io.gfile.glob("x*.tfrecord"))`}},
		{"/data", []string{"1", "2", "3", "4", "5"}, []string{`["1", "2", "3", "4", "5"]`}},
	} {
		s := sample()
		s.Path, s.Records.Bare = c.path, c.bare
		if c.bare != nil {
			s.Stages = nil
		}
		_, body := write(t, s, card.Options{})
		for _, want := range c.want {
			if !strings.Contains(body, want) {
				t.Errorf("%q: the card does not have %q in\n%s", c.bare, want, body[strings.Index(body, "## Check"):])
			}
		}
	}
}

func TestLicencesAreThoseOfTheDownloads(t *testing.T) {
	download := func(licence string) survey.Download {
		return survey.Download{Name: "x", Origin: sharding.Origin{URL: "https://example.org/x", Licence: licence}}
	}
	for _, c := range []struct {
		downloads []survey.Download
		want      []any
	}{
		{nil, []any{"unknown"}},
		{[]survey.Download{download("CC BY-SA 4.0 and GFDL; attribution")}, []any{"cc-by-sa-4.0", "gfdl"}},
		{[]survey.Download{download("CC BY-SA 4.0 and GFDL"), download("public domain in the USA")}, []any{"cc-by-sa-4.0", "gfdl", "other"}},
		{[]survey.Download{download("not known")}, []any{"unknown"}},
	} {
		s := sample()
		s.Stages[0].Downloads = c.downloads
		got, body := write(t, s, card.Options{})
		if d := cmp.Diff(c.want, got["license"]); d != "" {
			t.Errorf("%v: %s", c.downloads, d)
		}
		if unknown := strings.Contains(body, "licence of a source is not known"); unknown != (c.want[0] == "unknown") {
			t.Errorf("%v: warned: %v", c.downloads, unknown)
		}
	}
}

func TestContributorsAndLicenceOfWikisAreNamed(t *testing.T) {
	s := sample()
	s.Documents[0].Licenses = []survey.Name{{Name: "CC-BY-SA-4.0", Count: 7}}
	s.Documents[0].Wikis = []survey.Name{{Name: "https://en.wikipedia.org/wiki/", Count: 6}, {Name: "https://x.example/wiki/> # no", Count: 1}}
	got, body := write(t, s, card.Options{})
	if d := cmp.Diff([]any{"cc-by-sa-4.0"}, got["license"]); d != "" {
		t.Error(d)
	}
	for _, want := range []string{"6 pages of <https://en.wikipedia.org/wiki/>, by the contributors", "?action=history", "under CC-BY-SA-4.0", "<https://x.example/wiki/%3E%20#%20no>"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "licence of a source is not known") {
		t.Error("the licence is said to be unknown")
	}
	s.Documents[0].Licenses = append(s.Documents[0].Licenses, survey.Name{Count: 2})
	if got, _ := write(t, s, card.Options{}); !cmp.Equal([]any{"cc-by-sa-4.0", "unknown"}, got["license"]) {
		t.Errorf("with documents without a licence: %v", got["license"])
	}
	if _, body := write(t, sample(), card.Options{}); strings.Contains(body, "Attribution") {
		t.Error("documents without addresses have an attribution")
	}
}

func TestSizesHaveTheHubsClasses(t *testing.T) {
	for n, want := range map[int64]string{0: "n<1K", 999: "n<1K", 1000: "1K<n<10K", 99_999: "10K<n<100K", 1e6: "1M<n<10M", 3e9: "1B<n<10B", 2e12: "n>1T"} {
		s := sample()
		s.Records.Records = n
		if got, _ := write(t, s, card.Options{}); fmt.Sprint(got["size_categories"]) != "["+want+"]" {
			t.Errorf("%d: got %v, want %s", n, got["size_categories"], want)
		}
	}
}

func TestNamesOfDataAreNoMarkup(t *testing.T) {
	_, body := write(t, sample(), card.Options{Name: hostile, Command: "prepare-data run"})
	for _, bad := range []string{"\n# not a heading", "<script>", "a|b"} {
		if strings.Contains(body, bad) {
			t.Errorf("the card holds %q", bad)
		}
	}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "| `a.b`") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 3 {
			t.Errorf("a row of another width: %s", line)
		}
	}
	for _, want := range []string{"prepare-data run", "prepare-data verify", "S, P = 64, 10", `compression_type="GZIP"`, "| input_ids | int64 | 64 |", "`m2`"} {
		if !strings.Contains(body, want) {
			t.Errorf("the card does not say %q", want)
		}
	}
}

// A reader of a card must meet what is wrong before what is well.
func TestWarningsComeFirst(t *testing.T) {
	s := sample()
	s.Stages[1].Warnings = []sharding.DescribedWarning{{Text: "61 % of the tokens"}}
	_, body := write(t, s, card.Options{Name: "x"})
	if want := "\n# x\n\n> [!WARNING]\n"; !strings.HasPrefix(body, want) || !strings.Contains(body, "> - examples: 61 % of the tokens\n\nBERT") {
		t.Errorf("got %.300q", body)
	}
}

func ExampleWrite() {
	var b bytes.Buffer
	err := card.Write(&b, &survey.Stats{Path: "wiki"}, card.Options{Licences: []string{"cc0-1.0"}})
	fmt.Println(strings.Split(b.String(), "\n")[1], err)
	// Output: pretty_name: wiki <nil>
}
