package tokenize_test

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/internal/dev/torture"
	"pretext/tokenize"
)

// What Hugging Face's tokenizers 0.23.3 give, see testdata/hf.py.
//
//go:embed testdata/hf_cases.jsonl
var hfCases []byte

//go:embed testdata/hf_words.txt
var hfWords string

func profileEncoder(tb testing.TB, v *tokenize.Vocab, lower bool, p tokenize.Profile) *tokenize.Encoder {
	tb.Helper()
	tok, err := tokenize.New(v, tokenize.Options{DoLowerCase: lower, Profile: p})
	if err != nil {
		tb.Fatal(err)
	}
	return tok.NewEncoder()
}

func TestProfileHFGivesTheIDsOfHuggingFace(t *testing.T) {
	v := vocabFile(t, "vocab/bert-base-uncased-vocab.txt")
	e := profileEncoder(t, v, true, tokenize.ProfileHF)
	for line := range bytes.Lines(hfCases) {
		var c struct {
			Text string  `json:"text"`
			IDs  []int32 `json:"ids"`
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		if got := e.AppendIDs([]int32{}, c.Text); !slices.Equal(got, c.IDs) {
			t.Errorf("%+q:\ngot  %d\nwant %d", c.Text, got, c.IDs)
		}
		if got := e.AppendIDsBytes([]int32{}, []byte(c.Text)); !slices.Equal(got, c.IDs) {
			t.Errorf("%+q as bytes:\ngot  %d\nwant %d", c.Text, got, c.IDs)
		}
	}
}

// TestProfileHFSplitsEveryCodePointAsHuggingFace leaves out most pages of
// uniform ranges unless the run is full.
func TestProfileHFSplitsEveryCodePointAsHuggingFace(t *testing.T) {
	all := torture.Full()
	var modes []*tokenize.WordSplitter
	for _, lower := range []bool{true, false} {
		w, err := tokenize.NewWordSplitter(tokenize.Options{DoLowerCase: lower, Profile: tokenize.ProfileHF})
		if err != nil {
			t.Fatal(err)
		}
		modes = append(modes, w)
	}
	if got := strings.Count(hfWords, "\n"); got != 0x1100 {
		t.Fatalf("%d pages of checksums, want %d", got, 0x1100)
	}
	for line := range strings.Lines(hfWords) {
		fields := strings.Fields(line)
		page, err := strconv.ParseInt(fields[0], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		first := rune(page) << 8
		if !all && uniform(first) && uniform(first+0xff) && page%16 != 0 {
			continue
		}
		for i, w := range modes {
			if got := hashWords(w, first); got != fields[1+i] {
				t.Errorf("code points from %U, lower %v: got words with checksum %s, want %s", first, i == 0, got, fields[1+i])
			}
		}
	}
}

// hashWords is words of testdata/hf.py for one page.
func hashWords(w *tokenize.WordSplitter, first rune) string {
	sum := sha256.New()
	for r := first; r <= first+0xff; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		c := string(r)
		text := c + " x" + c + "y Z" + c + " AΣ" + c + "B " + c + "Σ e\u0301" + c + "\u0323 \U0001d16d" + c + "\U0001d165 !" + c
		for word := range w.Words(text) {
			sum.Write(word)
			sum.Write([]byte("\n"))
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// specialSeeds are texts with special tokens in every position.
func specialSeeds() []string {
	return []string{
		"[MASK]", " [SEP] [CLS]\t[UNK]\n[PAD] ", "a[MASK]", "[MASK]a", "[MASK] a", "[MASK].", "[MASK][SEP]", "[[MASK]]", "[MASK", "MASK]",
		"界[MASK]界", "x [M\u00adASK] y", "\u200b[MASK]\u200b z", "a\u200b[MASK]", "[MASK]\u200ba", "[MASK]\u0301", "[mask] [Mask]",
		"\ue000[SEP]\U0010fffd \u0378x\u0378y", "[MA\xffSK] \xff[SEP]\xff", "[\x00\x00[MASK]", "Σ[SEP] ΑΣ [SEP] ΑΣ\ue000 [CLS]ΑΣ\u0378Α",
		strings.Repeat("a", 100), strings.Repeat("a", 101), strings.Repeat("[", 50) + "MASK]", "#[PAD]#",
	}
}

func TestProfileNVIDIAEqualsItsReference(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, lower := range []bool{true, false} {
		e := profileEncoder(t, v, lower, tokenize.ProfileNVIDIA)
		for _, text := range slices.Concat(fuzzSeeds(), specialSeeds()) {
			checkReference(t, e, text)
		}
		rapid.Check(t, func(t *rapid.T) {
			parts := append([]string{" ", "a", "界", "\u00ad", "\ue000", "\u0378", "\xff", "Σ", "[", ".", "\u0301"}, tokenize.SpecialTokens()...)
			text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "parts"), "") + drawText(t)
			checkReference(t, e, text)
		})
	}
}

func TestEveryCodePointGivesTheWordsOfNVIDIA(t *testing.T) {
	needOracle(t)
	o := tokenize.Options{DoLowerCase: true, Profile: tokenize.ProfileNVIDIA}
	slow := newReference(nil, o)
	fast, err := tokenize.NewWordSplitter(o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range tested() {
		text := string(r) + " x" + string(r) + "y ΑΣ" + string(r) + "B"
		got = fast.AppendWords(got[:0], text)
		if want := slow.words(text); !slices.Equal(got, want) {
			t.Errorf("%U:\ngot  %+q\nwant %+q", r, got, want)
		}
	}
}

func TestProfilesDifferAsTheTableSays(t *testing.T) {
	v, encoders := smallVocab(t), map[tokenize.Profile]*tokenize.Encoder{}
	for _, p := range append(tokenize.Profiles(), "") {
		encoders[p] = profileEncoder(t, v, true, p)
	}
	long := strings.Repeat("a", 150)
	cut := "a" + strings.Repeat(" ##a", 149)
	for _, test := range []struct{ text, google, nvidia, hf string }{
		{"the running", "the run ##ning", "the run ##ning", "the run ##ning"},
		{long, cut, "[UNK]", "[UNK]"},
		{"a\ue000b", "[UNK]", "a ##b", "a ##b"},
		{"a\u0378b", "[UNK]", "a ##b", "[UNK]"},
		{"ΑΣ", "α ##ς", "α ##ς", "α ##σ"},
		{"[MASK]", "[ m ##a ##s ##k ]", "[MASK]", "[MASK]"},
		{"a[MASK].", "a [ m ##a ##s ##k ] .", "a [ m ##a ##s ##k ] .", "a [MASK] ."},
		{"[mask]", "[ m ##a ##s ##k ]", "[ m ##a ##s ##k ]", "[ m ##a ##s ##k ]"},
	} {
		for p, want := range map[tokenize.Profile]string{
			tokenize.ProfileGoogle: test.google, tokenize.ProfileNVIDIA: test.nvidia, tokenize.ProfileHF: test.hf, "": test.google,
		} {
			got := strings.Join(encoders[p].AppendTokens(nil, test.text), " ")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%+q, profile %q (-want +got):\n%s", test.text, p, diff)
			}
		}
	}
}

func TestProfilesAgreeOnProse(t *testing.T) {
	v := vocabFile(t, "vocab/bert-base-uncased-vocab.txt")
	text := string(realdata.Read(t, "books/txt/36_the_war_of_the_worlds.txt"))
	want := profileEncoder(t, v, true, tokenize.ProfileGoogle).AppendIDs(nil, text)
	for _, p := range tokenize.Profiles() {
		if !slices.Equal(profileEncoder(t, v, true, p).AppendIDs(nil, text), want) {
			t.Errorf("profile %s gives other ids than google", p)
		}
	}
}

// FuzzProfiles checks what holds in every profile.
func FuzzProfiles(f *testing.F) {
	needOracle(f)
	for _, text := range slices.Concat(fuzzSeeds(), specialSeeds()) {
		f.Add(text)
	}
	v := smallVocab(f)
	var encoders []*tokenize.Encoder
	for _, p := range tokenize.Profiles() {
		encoders = append(encoders, profileEncoder(f, v, true, p), profileEncoder(f, v, false, p))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range encoders {
			if e.Options().Profile != tokenize.ProfileHF {
				checkReference(t, e, text)
			}
			checkPromises(t, e, text, "[SEP] "+text)
		}
	})
}

func TestProfilesDoNotAllocate(t *testing.T) {
	text := strings.Join(slices.Concat(fuzzSeeds(), specialSeeds()), " ")
	for _, p := range tokenize.Profiles() {
		e := profileEncoder(t, smallVocab(t), true, p)
		ids := make([]int32, 0, 1<<16)
		if n := testing.AllocsPerRun(20, func() { ids = e.AppendIDs(ids[:0], text) }); n != 0 {
			t.Errorf("profile %s: %v allocations, want none", p, n)
		}
	}
}
