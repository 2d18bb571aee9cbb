package pipeline

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/counts"
	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
	"pretext/pipeline/stage"
	"pretext/sharding"
	"pretext/tokenize"
)

// languageTexts are sentences, and whether an uncased vocabulary loses parts of letters.
var languageTexts = []struct {
	name, text string
	loses      bool
}{
	{"English", "The ferry leaves the harbour in the morning and the captain drinks the last coffee at the inn of the island. " +
		"When the wind is strong, the boat stays where it is, and the people on the quay wait for the evening. " +
		"Nobody on the island minds, for the bread is good and the beds are warm.", false},
	{"Hindi", "मैं आज घर जा रहा हूँ और वहाँ अपनी बहन से मिलूँगा।", true},
	{"Bengali", "আমি আজ বাড়ি যাচ্ছি এবং সেখানে আমার বোনের সঙ্গে দেখা হবে।", true},
	{"Vietnamese", "Hôm nay trời rất đẹp và chúng tôi đi chợ mua cá.", true},
	{"Irish", "Tá an aimsir go maith inniu agus táimid ag dul abhaile.", true},
	{"German", "Die Bäume blühen und die Vögel fliegen über das Dorf.", true},
	{"Japanese", "学校で本を読みます。友だちがきます。", true},
	{"Korean", "오늘은 날씨가 좋아서 공원에 갑니다.", false}, // decomposed, but nothing is dropped
	{"Chinese", "今天天气很好，我们去公园散步。", false},
}

// writeLines writes a document of the text, 40 times, as JSON lines.
func writeLines(t *testing.T, text string) string {
	t.Helper()
	line, err := json.Marshal(map[string]string{"text": strings.Repeat(text+"\n", 40)})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, t.TempDir(), "text.jsonl", append(line, '\n'))
}

func trainConfig(t *testing.T, documents ...string) VocabConfig {
	t.Helper()
	c := VocabConfig{Target: stage.Target{Memory: 900e6, Out: filepath.Join(t.TempDir(), "vocab")},
		Reading: Reading{Extract: DefaultExtractOptions()}, Documents: documents, Training: DefaultVocabOptions()}
	c.Training.VocabSize = 600
	return c
}

func trainVocab(t *testing.T, r stage.Runner, c VocabConfig) (StageSummary, map[string]string) {
	t.Helper()
	s, err := Summarize("vocab", c.Out, func() (*sharding.Manifest, error) { return Vocab(t.Context(), r, c) })
	if err != nil {
		t.Fatal(err)
	}
	return s, tree(t, c.Out)
}

// caseOf returns do_lower_case in a folder's manifest.
func caseOf(t *testing.T, folder string) bool {
	t.Helper()
	var m struct {
		Options struct {
			DoLowerCase *bool `json:"do_lower_case"`
		}
	}
	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil || m.Options.DoLowerCase == nil {
		t.Fatalf("%s: no do_lower_case: %v", folder, err)
	}
	return *m.Options.DoLowerCase
}

func TestATrainedVocabularyKeepsMarksThatArePartsOfLetters(t *testing.T) {
	for _, l := range languageTexts {
		c := trainConfig(t, writeLines(t, l.text))
		s, files := trainVocab(t, testRunner, c)
		if caseOf(t, c.Out) == l.loses {
			t.Errorf("%s: lower-cased: %t", l.name, !l.loses)
		}
		if (len(s.Notes) > 0) != l.loses {
			t.Errorf("%s: notes %q", l.name, s.Notes)
		}
		raw, err := os.ReadFile(filepath.Join(c.Out, "vocab.txt"))
		if err != nil {
			t.Fatal(err)
		}
		v, err := tokenize.ReadVocab("vocab.txt", raw)
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenize.New(v, tokenize.Options{DoLowerCase: !l.loses})
		if err != nil {
			t.Fatal(err)
		}
		if ids := tok.NewEncoder().AppendIDs(nil, l.text); slices.Contains(ids, v.UNK()) {
			t.Errorf("%s: the vocabulary has not the characters of its text: %d", l.name, ids)
		}
		c.Out, c.FixedCase = filepath.Join(t.TempDir(), "vocab"), true
		if _, uncased := trainVocab(t, testRunner, c); !caseOf(t, c.Out) {
			t.Errorf("%s: --do-lower-case is not obeyed", l.name)
		} else if same := gocmp.Equal(files, uncased); same == l.loses {
			t.Errorf("%s: with --do-lower-case the same files: %t", l.name, same)
		}
	}
}

func TestTheCaseOfATrainedVocabularyDoesNotDependOnWorkers(t *testing.T) {
	var paths []string
	for _, l := range languageTexts {
		paths = append(paths, writeLines(t, l.text))
	}
	var want map[string]string
	for _, workers := range []int{1, 5} {
		_, got := trainVocab(t, stage.Runner{Name: "direct", Workers: workers}, trainConfig(t, paths...))
		if want == nil {
			want = got
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%d workers: %s", workers, diff)
		}
	}
}

// Shards have the case of the vocabulary that a run trained for them; a given uncased one
// gives a warning with both figures.
func TestARunLosesNoMarksInSilence(t *testing.T) {
	for _, l := range languageTexts {
		dir := t.TempDir()
		c := DefaultRunConfig(filepath.Join(dir, "run"))
		c.Sources = []Source{{Kind: KindBooks, Path: writeFile(t, dir, "book.txt", []byte(strings.Repeat(l.text+"\n\n", 40)))}}
		c.VocabSize, c.Examples.DupeFactor, c.Examples.Shards = 600, 1, 1
		stages := run(t, testRunner, c)
		if slices.Contains(codesOf(stages), sharding.WarnLostMarks) {
			t.Errorf("%s: a trained vocabulary loses marks", l.name)
		}
		if caseOf(t, filepath.Join(c.Out, "shards")) == l.loses {
			t.Errorf("%s: shards are not of the case of their vocabulary", l.name)
		}
		c.Out, c.FixedCase = filepath.Join(dir, "given"), true
		stages = run(t, testRunner, c)
		var text string
		for _, w := range stages[len(stages)-1].Warnings {
			if w.Code == sharding.WarnLostMarks {
				text = w.Text
			}
		}
		if (text != "") != l.loses || l.loses && strings.Count(text, " %") != 4 {
			t.Errorf("%s: uncased by flag: warning %q", l.name, text)
		}
		if v := verify(t, c.Out); !v.OK() {
			t.Error(v.Problems)
		}
	}
}

// Shards that are made apart from their vocabulary have its case, if it lies where it was
// trained, and so have shards made with a copy beside shards.
func TestShardsHaveTheCaseOfTheirVocabulary(t *testing.T) {
	documents := writeLines(t, languageTexts[1].text)
	v := trainConfig(t, documents)
	trainVocab(t, testRunner, v)
	trained := filepath.Join(v.Out, "vocab.txt")
	raw, err := os.ReadFile(trained)
	if err != nil {
		t.Fatal(err)
	}
	shards := filepath.Join(t.TempDir(), "shards")
	for _, test := range []struct {
		name, vocab, out string
		fixed, cased     bool
	}{
		{"where it was trained", trained, shards, false, true},
		{"beside shards", filepath.Join(shards, "vocab.txt"), "", false, true},
		{"--do-lower-case", trained, "", true, false},
		{"a copy alone", writeFile(t, t.TempDir(), "vocab.txt", raw), "", false, false},
	} {
		c := ExamplesConfig{Target: v.Target, Reading: v.Reading, TokenFile: TokenFile{Vocab: test.vocab}, Documents: []string{documents},
			Examples: sharding.DefaultExamplesOptions(), FixedCase: test.fixed}
		c.Out = cmp.Or(test.out, filepath.Join(t.TempDir(), "shards"))
		c.Examples.DupeFactor = 1
		s, err := Summarize("examples", c.Out, func() (*sharding.Manifest, error) { return Examples(t.Context(), testRunner, c) })
		if err != nil {
			t.Fatal(err)
		}
		if caseOf(t, c.Out) == test.cased {
			t.Errorf("%s: cased: %t", test.name, !test.cased)
		}
		if warned := slices.Contains(codesOf([]StageSummary{s}), sharding.WarnLostMarks); warned == test.cased {
			t.Errorf("%s: warned: %t", test.name, warned)
		}
	}
}

// The mini dumps of twenty wikis, in each script of the test data.
func TestMiniDumpsLoseNoMarksInSilence(t *testing.T) {
	wikis := []string{"mr", "ja", "ar", "el", "vec", "lv", "ro", "fi", "de", "fr", "pt", "ur", "bg", "ka", "hy", "zh", "id", "nl", "eu", "simple"}
	for i, wiki := range wikis {
		if !torture.Full() && i%5 > 0 {
			continue
		}
		dir := t.TempDir()
		m, err := Extract(t.Context(), testRunner, ExtractConfig{Target: stage.Target{Memory: 900e6, Out: filepath.Join(dir, "documents")}, Reading: Reading{Extract: DefaultExtractOptions(), MaxRejects: 1},
			Sources: []Source{{Kind: KindWiki, Path: realdata.Path(t, "wiki/minidumps/"+wiki+"wiki.xml.bz2")}}})
		if err != nil || m.Counts[counts.KeyOf("documents")] == 0 {
			t.Fatalf("%s: %v, %v", wiki, m, err)
		}
		inputs, err := sharding.OpenDocuments(t.Context(), []string{filepath.Join(dir, "documents")})
		if err != nil {
			t.Fatal(err)
		}
		lost, err := sharding.MeasureMarks(t.Context(), inputs)
		if err != nil {
			t.Fatal(err)
		}
		c := trainConfig(t, filepath.Join(dir, "documents"))
		c.Training.VocabSize = 3000
		s, _ := trainVocab(t, testRunner, c)
		uncased := caseOf(t, c.Out)
		t.Logf("| %s | %d | %.2f %% | %d | %d | uncased: %t |", wiki, lost.Words, 100*float64(lost.Losing)/float64(lost.Words), lost.Types, lost.Types-lost.Merged, uncased)
		if want := slices.Contains([]string{"ka", "hy", "zh", "simple"}, wiki); uncased != want {
			t.Errorf("%s: uncased: %t, want %t", wiki, uncased, want)
		}
		if uncased && lost.Losing > 0 && !lost.English() && len(s.Notes) == 0 {
			t.Errorf("%s: %d of %d words lose marks in silence", wiki, lost.Losing, lost.Words)
		}
	}
}
