package tokenize_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
)

// smallVocab is a vocabulary of our own in which many words have several pieces
// and many have none.
func smallVocab(tb testing.TB) *tokenize.Vocab {
	tb.Helper()
	tokens := tokenize.SpecialTokens()
	for c := '!'; c <= '~'; c++ {
		if 'A' <= c && c <= 'Z' && c%3 == 0 {
			continue // these capital letters are unknown
		}
		tokens = append(tokens, string(c))
		if c != 'q' {
			tokens = append(tokens, "##"+string(c))
		}
	}
	tokens = append(tokens, "the", "un", "able", "##able", "##aff", "run", "##ning", "Word", "##Word", "##word",
		"straße", "cafe", "café", "##é", "é", "界", "世", "##ᅥ", "ᄀ", "σ", "##σ", "##ς", "α", "##α", "ж", "##ж",
		"##\U0001D165", "##\U0001D16D", "##\u302e", "¿", "’", "##", "fifteenletterss", "sixteenletterssx", "seventeenletterss")
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// checkReference compares an encoder with the reference on a text.
func checkReference(t interface{ Errorf(string, ...any) }, e *tokenize.Encoder, text string) {
	o := e.Options()
	want := newReference(e.Vocab(), o).tokens(text)
	if got := e.AppendTokens([]string{}, text); !slices.Equal(got, want) {
		t.Errorf("%+q, lower %v:\ngot  %+q\nwant %+q", text, o.DoLowerCase, got, want)
	}
}

func TestEncoderEqualsTheReferenceOnTexts(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, lower := range []bool{true, false} {
		e := newEncoder(t, v, lower)
		for _, text := range fuzzSeeds() {
			checkReference(t, e, text)
		}
	}
}

func TestEncoderEqualsTheReferenceOnRealText(t *testing.T) {
	needOracle(t)
	sample := string(realdata.Read(t, "tfrecord/bert-pretraining/sample_text.txt"))
	lines := slices.Concat(strings.Split(sample, "\n"), englishLines(t)[:500], multilingualLines(t))
	for _, lower := range []bool{true, false} {
		e := newEncoder(t, vocabFile(t, "vocab/bert-base-multilingual-cased-vocab.txt"), lower)
		for _, line := range lines {
			checkReference(t, e, line)
		}
	}
}

// TestEncoderEqualsTheReferenceAcrossStretches moves texts over the place where
// a long text is cut, 1,024 bytes from its start.
func TestEncoderEqualsTheReferenceAcrossStretches(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, lower := range []bool{true, false} {
		e := newEncoder(t, v, lower)
		for i, text := range fuzzSeeds() {
			filler := []string{"ab, ", "世", "x", "é"}[i%4]
			for before := max(0, 1024-len(text)); before < 1026; before += 1 + len(text)/16 {
				checkReference(t, e, strings.Repeat(filler, before/len(filler))+strings.Repeat(" ", before%len(filler))+text+" the end")
			}
		}
	}
}

// fuzzSeeds are texts of the kinds where implementations differ.
func fuzzSeeds() []string {
	return []string{
		"", " ", "a", "The unaffable WORD running, running.", "it's 3.14% of $5!",
		"fifteenletterss sixteenletterssx seventeenletterss Fifteenletterss",
		"\x00a\x00b \u200bzero\u200dwidth soft\u00adhyphen \ufeffbom \ufffd replaced",
		"tab\tline\nreturn\r\v\f\x1c\x1d\x85 join \u00a0\u2003\u2028\u2029\u3000 split",
		"ΟΔΥΣΣΕΥΣ ΣΑΣ. ΑΣ' ΑΣ'Α Σ ΑΣ\u0301 ΑΣ\u00adΑ ΑΣ界Α 'Σ ΑΣ\xffΑ",
		"İstanbul ẞ ﬁ Ǆ Ω K Å", "e\u0301 é ệ e\u0302\u0323 \u0344 \u0345",
		"한국어 각 한\u302e", "世界 abc世def 豈 \U0002f800x", "≠ ≮ \u1fef \u037e \u0387 a≠b",
		"\U0001D15E\U0001D165\U0001D16D\U0001D160 x\U0001D16D\u0323\U0001D165y \u0f73\u0f75 \u302e\u0301\u302f",
		"[MASK] [UNK] ##able [PAD]x", strings.Repeat("Ab", 100) + " " + strings.Repeat("é", 201),
		"a\xffb \xed\xa0\x80c \xf4\x90\x80\x80d \xe2\x82", "\xc3", "x\xc3", "0123456789abcdef", "0123456789abcde", "000000000000B000",
		"😀👨‍👩‍👧 🇩🇪 ¿qué? — “quoted” ‘x’",
	}
}

// FuzzEncode checks the promises of the package comment on any two texts.
func FuzzEncode(f *testing.F) {
	needOracle(f)
	seeds := fuzzSeeds()
	for i, text := range seeds {
		f.Add(text, seeds[(i+7)%len(seeds)])
	}
	v := smallVocab(f)
	encoders := []*tokenize.Encoder{newEncoder(f, v, false), newEncoder(f, v, true)}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, e := range encoders {
			checkReference(t, e, a)
			checkPromises(t, e, a, b)
		}
	})
}

// checkPromises checks what must hold whatever the reference says.
func checkPromises(t *testing.T, e *tokenize.Encoder, a, b string) {
	t.Helper()
	idsA, idsB := e.AppendIDs(nil, a), e.AppendIDs(nil, b)
	if got, want := e.AppendIDs(nil, a+" "+b), slices.Concat(idsA, idsB); !slices.Equal(got, want) {
		t.Errorf("%+q and %+q together: %d, apart: %d", a, b, got, want)
	}
	if got := e.AppendIDs(nil, decodeIgnoring(a)); !slices.Equal(got, idsA) {
		t.Errorf("%+q: %d, without its invalid bytes: %d", a, idsA, got)
	}
	if got := e.AppendIDsBytes(idsB, []byte(a)); !slices.Equal(got, slices.Concat(idsB, idsA)) {
		t.Errorf("%+q appended as bytes: %d, want %d", a, got, slices.Concat(idsB, idsA))
	}
	within := []byte("Zz9" + a + "Zz9Zz9Zz9Zz9Zz9Zz9")[3:][:len(a)]
	if got := e.AppendIDsBytes(nil, within); !slices.Equal(got, idsA) {
		t.Errorf("%+q: %d, with text behind its end: %d", a, idsA, got)
	}
	for _, room := range []int{0, 1, len(idsA), 2 * len(idsA)} {
		if got := e.AppendIDs(append(make([]int32, 0, room+1), -7), a); got[0] != -7 || !slices.Equal(got[1:], idsA) {
			t.Errorf("%+q: %d, appended with room for %d: %d", a, idsA, room, got)
		}
	}
	for _, id := range idsA {
		if id < 0 || int(id) >= e.Vocab().Len() {
			t.Errorf("%+q: id %d is not in the vocabulary", a, id)
		}
	}
}

// drawText draws text of characters that have rules of their own.
func drawText(t *rapid.T) string {
	alphabet := []rune("aBzZ09 qQ,.'[#é\u00e9\u0301\u0323\u0345\u00ad\u200b\x00\x1f\x85\u00a0\u2028ΣσςΑİẞ각한ᆨ世豈≠\u037e\u1fef\U0001D15E\U0001D165\U0001D16D\u302e\u0f73\ufffd\U0001F600")
	return rapid.StringOfN(rapid.SampledFrom(alphabet), 0, 60, -1).Draw(t, "text")
}

func TestEncoderEqualsTheReferenceOnDrawnTexts(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	for _, lower := range []bool{true, false} {
		e := newEncoder(t, v, lower)
		rapid.Check(t, func(t *rapid.T) { checkReference(t, e, drawText(t)) })
	}
}

func TestALimitOfAnyLengthIsThatOfTheReference(t *testing.T) {
	needOracle(t)
	v := smallVocab(t)
	rapid.Check(t, func(t *rapid.T) {
		o := tokenize.Options{DoLowerCase: true, MaxCharsPerWord: rapid.IntRange(1, 20).Draw(t, "max")}
		tok, err := tokenize.New(v, o)
		if err != nil {
			t.Fatal(err)
		}
		checkReference(t, tok.NewEncoder(), drawText(t))
	})
}

// TestTheCacheIsNotSeen encodes more words than the cache holds, with pieces in
// any number, again and again in different orders, and compares with encoders
// that know only one text.
func TestTheCacheIsNotSeen(t *testing.T) {
	v := smallVocab(t)
	e := newEncoder(t, v, true)
	var texts []string
	for i := range 400 {
		var text []string
		for j := range 300 {
			text = append(text, fmt.Sprintf("w%xrunning%d", i*300+j, j%5), "the", fmt.Sprint(i), "éa"+fmt.Sprint(j))
		}
		texts = append(texts, strings.Join(text, " "))
	}
	want := map[int][]int32{}
	for i := 0; i < len(texts); i += 40 {
		want[i] = newEncoder(t, v, true).AppendIDs(nil, texts[i])
	}
	for round := range 3 {
		for i := range texts {
			if (i+round)%5 > 0 {
				e.AppendIDs(nil, texts[(i*7+round)%len(texts)])
			}
		}
		for i := 0; i < len(texts); i += 40 {
			if !slices.Equal(e.AppendIDs(nil, texts[i]), want[i]) {
				t.Fatalf("round %d, text %d: differs from that of a new encoder", round, i)
			}
		}
	}
}

// TestWordsThatShareASlotAreKeptApart encodes so many words of eight equal bytes
// and three different ones, at either end, that thousands of them meet in a slot
// of the cache.
func TestWordsThatShareASlotAreKeptApart(t *testing.T) {
	tokens := append(tokenize.SpecialTokens(), "prefixed", "##suffixed")
	for i := range 26 * 26 * 26 {
		three := string([]byte{byte('a' + i/676), byte('a' + i/26%26), byte('a' + i%26)})
		tokens = append(tokens, three, "##"+three)
	}
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		t.Fatal(err)
	}
	e := newEncoder(t, v, true)
	for round := range 2 {
		for id := int32(7); int(id) < v.Len(); id += 2 {
			three := v.Token(id)
			got := e.AppendIDs(nil, "prefixed"+three+" "+three+"suffixed")
			if want := []int32{5, id + 1, id, 6}; !slices.Equal(got, want) {
				t.Fatalf("round %d, %q: got %d, want %d", round, three, got, want)
			}
		}
	}
}

func TestEncodingDoesNotAllocate(t *testing.T) {
	for _, lower := range []bool{true, false} {
		e := newEncoder(t, smallVocab(t), lower)
		text := strings.Join(fuzzSeeds(), " ")
		raw := []byte(text)
		ids := make([]int32, 0, 1<<16)
		tokens := make([]string, 0, 1<<16)
		encode := func() {
			ids = e.AppendIDs(ids[:0], text)
			ids = e.AppendIDsBytes(ids[:0], raw)
			tokens = e.AppendTokens(tokens[:0], text)
		}
		if n := testing.AllocsPerRun(20, encode); n != 0 {
			t.Errorf("lower %v: %v allocations, want none", lower, n)
		}
	}
}

func TestAWordOfMillionsOfLettersIsUnknownAndTakesNoMemory(t *testing.T) {
	v := smallVocab(t)
	e := newEncoder(t, v, true)
	e.AppendIDs(nil, "warm up: é")
	for _, unit := range []string{"a", "é", "ж", "각", "Σ", "Σ.", "e\u0301", "\U0001D165", "\U0001D165\U0001D16D", "\u00ad\u200ba", "\U0001D15E"} {
		text := strings.Repeat(unit, 2_000_000/len(unit))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		ids := e.AppendIDs(nil, text)
		runtime.ReadMemStats(&after)
		if unit != "Σ." && !slices.Equal(ids, []int32{v.UNK()}) {
			t.Errorf("%+q repeated: %d ids, want [UNK] alone", unit, len(ids))
		}
		if got := after.TotalAlloc - before.TotalAlloc; unit != "Σ." && got > 1<<20 {
			t.Errorf("%+q repeated: %d bytes allocated", unit, got)
		}
	}
}

func TestEncodersShareATokenizer(t *testing.T) {
	v := smallVocab(t)
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	texts := fuzzSeeds()
	want := make([][]int32, len(texts))
	for i, text := range texts {
		want[i] = tok.NewEncoder().AppendIDs(nil, text)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			e := tok.NewEncoder()
			for i := range 200 {
				n := (i*5 + g) % len(texts)
				if !slices.Equal(e.AppendIDs(nil, texts[n]), want[n]) {
					t.Errorf("goroutine %d: %+q differs", g, texts[n])
				}
			}
		})
	}
	wg.Wait()
}

func TestWordsAreValidUTF8WithoutWhiteSpace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := tokenize.Options{DoLowerCase: rapid.Bool().Draw(t, "lower")}
		w, err := tokenize.NewWordSplitter(o)
		if err != nil {
			t.Fatal(err)
		}
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + drawText(t)
		for word := range w.Words(text) {
			if len(word) == 0 || !utf8.Valid(word) || len(pythonSplit(string(word))) != 1 {
				t.Errorf("%+q has the word %+q", text, word)
			}
		}
	})
}

func TestWordsLeavesOutWordsThatAreTooLong(t *testing.T) {
	w, err := tokenize.NewWordSplitter(tokenize.Options{MaxCharsPerWord: 3})
	if err != nil {
		t.Fatal(err)
	}
	got := w.AppendWords(nil, "abc abcd,ééé éééé")
	if diff := cmp.Diff([]string{"abc", ",", "ééé"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for word := range w.Words("a b") {
		if string(word) != "a" {
			t.Errorf("%q came after the loop was left", word)
		}
		break
	}
}

func TestNewRefuses(t *testing.T) {
	v := smallVocab(t)
	for _, test := range []struct {
		v    *tokenize.Vocab
		o    tokenize.Options
		want string
	}{
		{nil, tokenize.DefaultOptions(), "new tokenizer: no vocabulary"},
		{v, tokenize.Options{Profile: "elsewhere", MaxCharsPerWord: -1},
			"new tokenizer: profile \"elsewhere\": unknown, want one of [\"google\" \"nvidia-pt\" \"hf\"]\nmax_chars_per_word -1: must be between 0 and 65536"},
		{v, tokenize.Options{MaxCharsPerWord: 65537}, "new tokenizer: max_chars_per_word 65537: must be between 0 and 65536"},
	} {
		if _, err := tokenize.New(test.v, test.o); err == nil || err.Error() != test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
	if _, err := tokenize.NewWordSplitter(tokenize.Options{MaxCharsPerWord: -1}); err == nil {
		t.Error("a splitter was made of bad options")
	}
}
