package tokenize_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pretext/tokenize"
)

func TestOffsetsAreThoseOfHuggingFace(t *testing.T) {
	v := vocabFile(t, "vocab/bert-base-uncased-vocab.txt")
	hf, google := profileEncoder(t, v, true, tokenize.ProfileHF), profileEncoder(t, v, true, tokenize.ProfileGoogle)
	same := 0
	for line := range bytes.Lines(hfCases) {
		var c struct {
			Text    string
			IDs     []int32
			Offsets [][2]int
		}
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatal(err)
		}
		var want []tokenize.Span
		for _, o := range c.Offsets {
			want = append(want, tokenize.Span{Start: o[0], End: o[1]})
		}
		if ids, got := hf.AppendOffsets(nil, nil, c.Text); !slices.Equal(ids, c.IDs) || !slices.Equal(got, want) {
			t.Errorf("%+q:\ngot  %d %v\nwant %d %v", c.Text, ids, got, c.IDs, want)
		}
		ids, got := google.AppendOffsets(nil, nil, c.Text)
		if !slices.Equal(ids, c.IDs) || strings.ContainsAny(c.Text, "\ue000\u0378\u1734") {
			continue // the profiles differ on this one, or on what it deletes
		}
		same++
		if !slices.Equal(got, want) {
			t.Errorf("%+q under profile google:\ngot  %v\nwant %v", c.Text, got, want)
		}
	}
	if same < 100 {
		t.Errorf("only %d cases have the same ids under profile google", same)
	}
}

// charVocab has every character of alphabet as a piece of its own, at the
// beginning of a word and behind it, and some longer pieces.
func charVocab(tb interface{ Fatal(...any) }, alphabet string, longer ...string) *tokenize.Vocab {
	tokens := append(tokenize.SpecialTokens(), longer...)
	for _, c := range alphabet {
		for _, token := range []string{string(c), "##" + string(c)} {
			if !slices.Contains(tokens, token) {
				tokens = append(tokens, token)
			}
		}
	}
	v, err := tokenize.NewVocab(tokens)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// offsetAlphabet holds characters of every kind of normalization.
var offsetAlphabet = []rune("abBzé\u0301\u0323\u00ad\x00 \t.,#[]ΣσαÅİẞ각한ᆨ世豈≠\u0344\u0f73\u302e\U0001d165\U0001d16d\U0001d15e\u1715\ue000\ufffd")

func TestASpanIsTheTextOfItsToken(t *testing.T) {
	v := charVocab(t, "abBzé.,#[]Σσςαeiß각한世豈각한\U0001d165\U0001d16d\u302e\u1715",
		"ab", "##ab", "##aσ", "각", "##각")
	for _, o := range []tokenize.Options{{DoLowerCase: true}, {}, {DoLowerCase: true, Profile: tokenize.ProfileNVIDIA},
		{DoLowerCase: true, Profile: tokenize.ProfileHF}, {DoLowerCase: true, MaxCharsPerWord: 5}} {
		t.Run(fmt.Sprint(o), func(t *testing.T) {
			tok, err := tokenize.New(v, o)
			if err != nil {
				t.Fatal(err)
			}
			e := tok.NewEncoder()
			w, err := tokenize.NewWordSplitter(o)
			if err != nil {
				t.Fatal(err)
			}
			part := rapid.OneOf(rapid.StringOf(rapid.SampledFrom(offsetAlphabet)), rapid.SampledFrom([]string{"[MASK]", " [SEP] ", "\xff", "\xe4\xb8", "\xed\xa0\x80"}))
			rapid.Check(t, func(t *rapid.T) {
				checkSpans(t, e, w, strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "text"), ""))
			})
		})
	}
}

// checkSpans checks that the words of each span spell its token.
func checkSpans(t interface{ Errorf(string, ...any) }, e *tokenize.Encoder, w *tokenize.WordSplitter, text string) {
	ids, spans := e.AppendOffsets([]int32{-7}, []tokenize.Span{{}}, text)
	if want := e.AppendIDs([]int32{-7}, text); !slices.Equal(ids, want) || len(spans) != len(ids) {
		t.Errorf("%+q: ids %d, %d spans, want %d", text, ids, len(spans), want)
		return
	}
	for i, span := range spans[1:] {
		id, before := ids[i+1], spans[i]
		if span.Start < 0 || span.End <= span.Start || span.End > len(text) {
			t.Errorf("%+q: token %d: span %v", text, i, span)
			continue
		}
		token := strings.TrimPrefix(e.Vocab().Token(id), "##")
		spelled := strings.Join(w.AppendWords(nil, text[span.Start:span.End]), "")
		whole := span.Start >= before.End
		if i+2 < len(spans) {
			whole = whole && spans[i+2].Start >= span.End
		}
		switch fold := strings.NewReplacer("ς", "σ"); {
		case id == e.Vocab().UNK(): // the word, whatever it spells
		case strings.HasPrefix(token, "[") && len(token) > 1:
			if spelled = strings.ToUpper(spelled); spelled != token {
				t.Errorf("%+q: span %v holds %+q, want %s", text, span, spelled, token)
			}
		case whole && fold.Replace(spelled) != fold.Replace(token):
			t.Errorf("%+q: span %v, %+q, spells %+q, want %+q", text, span, text[span.Start:span.End], spelled, token)
		}
	}
}

func TestOffsetsOfKnownTexts(t *testing.T) {
	v := charVocab(t, "abcdefghijklmnopqrstuvwxyz.,'界한\u302e\U0001d165", "cafe", "##s", "un", "##able")
	e := profileEncoder(t, v, true, tokenize.ProfileGoogle)
	for _, test := range []struct{ text, want string }{
		{"Cafés, unable.", "[Café][s][,][un][able][.]"},
		{"cafe\u0301s", "[cafe][s]"},
		{"un\u00adable\u00ad .", "[un][able][.]"},
		{"u\u00adn a\u0301", "[u\u00adn][a]"},
		{"ζab 界界", "[ζab][界][界]"},
		{"  a  ", "[a]"},
		{"a\u302e\U0001d165b", "[a][\U0001d165][\u302e][b]"}, // the two change places
		{strings.Repeat("a", 201) + " b", "[" + strings.Repeat("a", 201) + "][b]"},
	} {
		var got strings.Builder
		_, spans := e.AppendOffsets(nil, nil, test.text)
		for _, s := range spans {
			got.WriteString("[" + test.text[s.Start:s.End] + "]")
		}
		if got.String() != test.want {
			t.Errorf("%+q: got %+q, want %+q", test.text, got.String(), test.want)
		}
	}
}

// FuzzAppendOffsets checks the promises of AppendOffsets on any text.
func FuzzAppendOffsets(f *testing.F) {
	for _, text := range append(fuzzSeeds(), specialSeeds()...) {
		f.Add(text)
	}
	v := smallVocab(f)
	encoders := []*tokenize.Encoder{newEncoder(f, v, false), newEncoder(f, v, true),
		profileEncoder(f, v, true, tokenize.ProfileHF), profileEncoder(f, v, true, tokenize.ProfileNVIDIA)}
	f.Fuzz(func(t *testing.T, text string) {
		for _, e := range encoders {
			ids, spans := e.AppendOffsets(nil, nil, text)
			if want := e.AppendIDs(nil, text); !slices.Equal(ids, want) || len(spans) != len(ids) {
				t.Errorf("%+q: ids %d, %d spans, want %d", text, ids, len(spans), want)
			}
			for _, s := range spans {
				if s.Start < 0 || s.End <= s.Start || s.End > len(text) {
					t.Errorf("%+q: spans %v", text, spans)
				}
			}
		}
	})
}
