package tokenize_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pretext/internal/dev/realdata"
	"pretext/tokenize"
)

const fiveSpecials = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n"

func TestReadVocabNumbersTheLines(t *testing.T) {
	for _, test := range []struct {
		name, file string
		want       []string // behind the special tokens
	}{
		{"LF", "a\n##b\n", []string{"a", "##b"}},
		{"no line end at the end", "a\n##b", []string{"a", "##b"}},
		{"CRLF", "a\r\n##b\r\n", []string{"a", "##b"}},
		{"white space around", " a\u3000\n\t##b \x1c\u0085\u2028\u00a0\n", []string{"a", "##b"}},
		{"an empty line", "a\n\n##b\n", []string{"a", "", "##b"}},
		{"an empty line at the end", "a\n\n", []string{"a", ""}},
		{"a line of white space", "\u2028\n##\u2028\n", []string{"", "##"}},
		{"white space inside", "a b\n", []string{"a b"}},
		{"CR inside", "a\rb\n", []string{"a\rb"}},
		{"what is not white space to Python", "\u200ba\n\ufeffb\n\u180ec\n", []string{"\u200ba", "\ufeffb", "\u180ec"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v, err := tokenize.LoadVocab(strings.NewReader(fiveSpecials + test.file))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for id := 5; id < v.Len(); id++ {
				token := v.Token(int32(id))
				got = append(got, token)
				if n, ok := v.ID(token); !ok || int(n) != id {
					t.Errorf("ID(%q) = %d, %v; want %d", token, n, ok, id)
				}
				if want := strings.HasPrefix(token, "##"); v.IsSubword(int32(id)) != want {
					t.Errorf("IsSubword of %q: %v", token, !want)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSpecialTokensMayStandAnywhere(t *testing.T) {
	v, err := tokenize.NewVocab([]string{"a", "[MASK]", "[SEP]", "b", "[CLS]", "[UNK]", "[PAD]"})
	if err != nil {
		t.Fatal(err)
	}
	got := []int32{v.MASK(), v.SEP(), v.CLS(), v.UNK(), v.PAD()}
	if diff := cmp.Diff([]int32{1, 2, 4, 5, 6}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := v.ID("c"); ok {
		t.Error("a token that is not there has an id")
	}
}

func TestAVocabularyMayLackSpecialTokensThatAreNotNeeded(t *testing.T) {
	file := []byte("[CLS]\na\n[UNK]\n")
	v, err := tokenize.ReadVocabWith("v.txt", file, tokenize.UnkToken)
	if err != nil {
		t.Fatal(err)
	}
	got := []int32{v.PAD(), v.UNK(), v.CLS(), v.SEP(), v.MASK()}
	if diff := cmp.Diff([]int32{-1, 2, 0, -1, -1}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := v.Decode([]int32{1, 2}); got != "a [UNK]" {
		t.Errorf("decoded %q", got)
	}
	if _, err := tokenize.ReadVocabWith("v.txt", file, tokenize.UnkToken, tokenize.SepToken); err == nil || err.Error() != "v.txt: [SEP] is missing" {
		t.Errorf("got %v, want the missing token that is needed", err)
	}
}

func TestReadVocabReportsEveryProblem(t *testing.T) {
	for _, test := range []struct{ name, file, want string }{
		{"empty", "", "v.txt: empty"},
		{"special tokens missing", "a\n[UNK]\n[SEP]\n", "v.txt: [PAD] is missing\nv.txt: [CLS] is missing\nv.txt: [MASK] is missing"},
		{"equal entries", fiveSpecials + "a\nb\na\n a\n", "v.txt: line 8: \"a\": already on line 6\nv.txt: line 9: \"a\": already on line 6"},
		{"two empty lines", fiveSpecials + "\n\n", "v.txt: line 7: \"\": already on line 6"},
		{"byte order mark", "\ufeff" + fiveSpecials, "v.txt: line 1: byte order mark"},
		{"invalid UTF-8", fiveSpecials + "caf\xe9\nb\n", "v.txt: line 6: \"caf\\xe9\": invalid UTF-8"},
		{"several", "[PAD]\n[UNK]\n[CLS]\n[PAD]\n\xff\n", "v.txt: line 5: \"\\xff\": invalid UTF-8\nv.txt: line 4: \"[PAD]\": already on line 1\nv.txt: [SEP] is missing\nv.txt: [MASK] is missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tokenize.ReadVocab("v.txt", []byte(test.file))
			if err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestReadVocabCountsProblemsItDoesNotList(t *testing.T) {
	_, err := tokenize.ReadVocab("v.txt", []byte(fiveSpecials+strings.Repeat("a\n", 1000)))
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "\nv.txt: 979 more problems") {
		t.Errorf("got %v", err)
	}
}

func TestAnEndlessFileIsNoVocabulary(t *testing.T) {
	if _, err := tokenize.LoadVocab(endless{}); err == nil || err.Error() != "vocabulary: more than 16777216 bytes: not a vocabulary" {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte('a' + i%26)
	}
	return len(p), nil
}

func TestLoadVocabReportsReadErrors(t *testing.T) {
	broken := errors.New("broken")
	if _, err := tokenize.LoadVocab(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestNewVocabRefusesLineEnds(t *testing.T) {
	if _, err := tokenize.NewVocab(append(tokenize.SpecialTokens(), "a\nb")); err == nil {
		t.Error("a token of two lines was taken")
	}
}

func TestHostileVocabularies(t *testing.T) {
	for name, want := range map[string]string{
		"crlf": "", "no-final-newline": "", "blank-line": "", "trailing-space": "",
		"duplicate": `line 1501: "х": already on line 1201`,
		"no-mask":   "[MASK] is missing",
		"bom":       "line 1: byte order mark",
		"not-utf8":  "invalid UTF-8",
		"empty":     "empty",
	} {
		t.Run(name, func(t *testing.T) {
			v, err := tokenize.ReadVocab(name, realdata.Read(t, "hostile/vocab/"+name+".txt"))
			if want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if v.Len() < 2000 || v.Token(0) != "[PAD]" {
					t.Errorf("%d tokens, the first %q", v.Len(), v.Token(0))
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

func TestReleasedVocabulariesHaveTheirHashes(t *testing.T) {
	for name, want := range map[string]struct {
		size   int
		sha256 string
	}{
		"uncased":            {30522, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
		"cased":              {28996, "eeaa9875b23b04b4c54ef759d03db9d1ba1554838f8fb26c5d96fa551df93d02"},
		"chinese":            {21128, "45bbac6b341c319adc98a532532882e91a9cefc0329aa57bac9ae761c27b291c"},
		"multilingual-cased": {119547, "fe0fda7c425b48c516fc8f160d594c8022a0808447475c1a7c6d6479763f310c"},
	} {
		v := vocabFile(t, "vocab/bert-base-"+name+"-vocab.txt")
		if v.Len() != want.size || v.SHA256() != want.sha256 {
			t.Errorf("%s: %d tokens, sha256 %s", name, v.Len(), v.SHA256())
		}
	}
}

// TestEveryTokenOfAVocabularyIsFound cuts words made of two tokens each, so that
// every entry is looked for at the begin of a word and behind one.
func TestEveryTokenOfAVocabularyIsFound(t *testing.T) {
	needOracle(t)
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching(`(##)?[abcé\x{1F600}]{1,5}`)
		tokens := rapid.SliceOfNDistinct(letters, 1, 200, rapid.ID).Draw(t, "tokens")
		v, err := tokenize.NewVocab(append(tokenize.SpecialTokens(), tokens...))
		if err != nil {
			t.Fatal(err)
		}
		tok, err := tokenize.New(v, tokenize.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := tok.NewEncoder()
		slow := newReference(v, tokenize.Options{})
		for i, token := range tokens {
			word := strings.TrimPrefix(tokens[(i*7)%len(tokens)], "##") + strings.TrimPrefix(token, "##")
			if diff := cmp.Diff(slow.tokens(word), e.AppendTokens([]string{}, word)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", word, diff)
			}
		}
	})
}

// FuzzReadVocab reads anything as a vocabulary. What is accepted can be written
// and read again.
func FuzzReadVocab(f *testing.F) {
	f.Add([]byte(fiveSpecials + "a\n##b\r\n\nc "))
	f.Add([]byte("\ufeff" + fiveSpecials))
	f.Add([]byte(fiveSpecials + "a\na"))
	f.Fuzz(func(t *testing.T, file []byte) {
		v, err := tokenize.ReadVocab("v", file)
		if err != nil {
			return
		}
		tokens := make([]string, v.Len())
		for id := range tokens {
			tokens[id] = v.Token(int32(id))
			if n, ok := v.ID(tokens[id]); !ok || n != int32(id) {
				t.Errorf("ID(%q) = %d, %v; want %d", tokens[id], n, ok, id)
			}
		}
		again, err := tokenize.NewVocab(tokens)
		if err != nil {
			t.Fatalf("%q: read, but not read again: %v", file, err)
		}
		if again.Len() != v.Len() || again.UNK() != v.UNK() {
			t.Errorf("%q: read again it is another", file)
		}
		tok, err := tokenize.New(v, tokenize.DefaultOptions())
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range tok.NewEncoder().AppendIDsBytes(nil, file) {
			if int(id) >= v.Len() {
				t.Errorf("id %d of %d", id, v.Len())
			}
		}
	})
}

func TestDecodeJoinsPieces(t *testing.T) {
	v, err := tokenize.NewVocab([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ri", "##ver", "runs", "##"})
	if err != nil {
		t.Fatal(err)
	}
	for want, ids := range map[string][]int32{"river runs": {2, 5, 6, 7, 3, 0, 0}, "##ver ri": {6, 5}, "runs [UNK] [MASK]": {7, 1, 4}, "": {2, 3}, "ri": {5, 8}} {
		if got := v.Decode(ids); got != want {
			t.Errorf("%v: got %q, want %q", ids, got, want)
		}
	}
}

func ExampleReadVocab() {
	_, err := tokenize.ReadVocab("vocab.txt", []byte("[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\nthe\n"))
	fmt.Println(err)
	// Output:
	// vocab.txt: line 6: "the": already on line 5
	// vocab.txt: [MASK] is missing
}
