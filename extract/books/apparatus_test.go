package books

import (
	"bytes"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

const prose70 = "It was a morning on which nobody in the house had meant to get up so\nearly, and yet all of them stood in the hall and looked at the door, as\nif it had been wonderful and not merely open to the whole of the garden.\n\n"

func TestApparatusIsRemoved(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"an illustration":          {"One.\n\n[Illustration: A cat\nsits on a [red] mat.]\n\nTwo.\n", "One.\nTwo."},
		"an illustration alone":    {"One.\n\n[Illustration]\n\nTwo.\n", "One.\nTwo."},
		"a footnote":               {"One[1] two.\n\n[Footnote 1: See the\n\nother book, p. 5.]\n\nTwo.[A]\n", "One two.\nTwo."},
		"page numbers":             {"One {12}two [Pg 13]three.\n\n{14}\n\n[15]\n\n- 16 -\n\n1\n\nTwo.\n", "One two three.\n1\nTwo."},
		"captions of files":        {"One.\n\n{The cat sat: p12.jpg}\n\n{It sat\non a mat: p13.png}\n\nTwo.\n\n{a brace}\n\n{x\n", "One.\nTwo.\n{a brace}\n{x"},
		"large initials":           {"|ONE day.\n\n| a | b |\n\n|two.\n", "ONE day.\n| a | b |\n|two."},
		"a starred note":           {"One. *\n\n[* It was\ntwo.]\n\nThree.\n", "One. *\nThree."},
		"stars":                    {"One.\n\n* * * * *\n\n-----\n\n***\n\nTwo -- three *** four.\n", "One.\nTwo -- three *** four."},
		"italics":                  {"_One two_ and (_three_), snake_case, Mr. ____, a _ b.\n", "One two and (three), snake_case, Mr. ____, a _ b."},
		"spaces":                   {"One.  Two.   Three.\n", "One. Two. Three."},
		"credits":                  {"Produced by A Person and\nthe Distributed Proofreaders\n\nOne.\n", "One."},
		"a transcriber's note":     {"One.\n\n[Transcriber's Note: Spelling was kept.]\n\nTwo.\n", "One.\nTwo."},
		"credits far below are no": {prose70 + strings.Repeat(prose70, 60) + "Produced by hand, it was dear.\n", ""},
		"a bracket of the author":  {"[He laughs.] One.\n\n[Enter a king.]\n\nTwo [2 apples].\n", "[He laughs.] One.\n[Enter a king.]\nTwo [2 apples]."},
		"a bracket without an end": {"[Illustration: One.\n\nTwo.\n", "[Illustration: One.\nTwo."},
		"text after an image":      {"[Illustration] One.\n", "[Illustration] One."},
		"a divided word":           {prose70 + "They thought that what stood there in the garden was as ever won-\nderful, and said so to the guest who was not at all so well-\nknown.\n", "as ever wonderful, and said so to the guest who was not at all so well-known."},
		"a soft hyphen":            {prose70 + "They thought that what stood there in the garden had been a so\u00ad\nlution.\n", "had been a solution."},
	} {
		got, stats := readText(t, c.in, Options{})
		if name == "credits far below are no" {
			if !strings.HasSuffix(got, "Produced by hand, it was dear.") {
				t.Errorf("%s: the line is gone", name)
			}
			continue
		}
		if !strings.HasSuffix(got, c.want) || !strings.Contains(name, "word") && !strings.Contains(name, "hyphen") && got != c.want {
			t.Errorf("%s: (-want +got):\n%s", name, gocmp.Diff(c.want, got))
		}
		whole, _ := readText(t, c.in, Options{KeepBoilerplate: true})
		if strings.Contains(c.in, "[Illustration") && !strings.Contains(whole, "[Illustration") || strings.Contains(c.in, "{14}") && !strings.Contains(whole, "{14}") {
			t.Errorf("%s: kept text lacks it: %q", name, whole)
		}
		if isGone := strings.Contains(name, "footnote"); isGone && stats.Apparatus != 3 {
			t.Errorf("%s: %d lines counted, want 3", name, stats.Apparatus)
		}
	}
}

func TestBooksOfAozoraBunkoLoseReadingsAndNotes(t *testing.T) {
	in := "題名\n著者\n\n-------------------------------------------------------\n【テキスト中に現れる記号について】\n\n《》：ルビ\n（例）吾輩《わがはい》\n-------------------------------------------------------\n\n" +
		"［＃３字下げ］一［＃「一」は中見出し］\n\n　吾輩《わがはい》は｜可愛い猫《かわいいねこ》である。\n［＃改ページ］\n　名前はまだ無い。\n\n底本：「全集」出版社\n　　　1987年発行\n入力：だれか\n"
	want := "題名\n著者\n一\n吾輩は可愛い猫である。\n名前はまだ無い。"
	got, stats := readText(t, in, Options{KeepLines: true})
	if diff := gocmp.Diff(want, got); diff != "" || stats.Apparatus != 10 {
		t.Errorf("%d lines removed (-want +got):\n%s", stats.Apparatus, diff)
	}
	chinese := "他讀《紅樓夢》。\n"
	if got, _ := readText(t, chinese, Options{}); got != strings.TrimSpace(chinese) {
		t.Errorf("a Chinese title: %q", got)
	}
}

func TestMacRomanIsNotReadAsWindows1252(t *testing.T) {
	mac := "The na\x95ve caf\x8e was na\x95ve. "
	if got, stats := readText(t, strings.Repeat(mac, 20), Options{}); got != strings.TrimSpace(strings.Repeat("The naïve café was naïve. ", 20)) || stats.Notes[0].Text != "not UTF-8, read as macintosh" {
		t.Errorf("got %q, %+v", got, stats)
	}
	if got, stats := readText(t, mac, Options{}); got != "" || stats.Rejects["encoding"] != 1 { // too few to know
		t.Errorf("got %q, rejects %v", got, stats.Rejects)
	}
}

// Lines that are taken as they are would be so byte by byte.
func FuzzCleanLines(f *testing.F) {
	for _, line := range []string{"", " ", "a b", " a", "a  b", "a ", "a  ", "_a_", "a_", "{1}", "a[1]", "a[", "[Pg 12]b", "a\u00a0 b"} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if got, want := appendCleaned([]byte("x "), line), appendCleanedBytes([]byte("x "), line); !bytes.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	})
}

func FuzzApparatus(f *testing.F) {
	f.Add("[Illustration: a\n\n[b]]\n* * *\n_c_ {1} d[1]\n底本：《x》［＃y］\n")
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<14 {
			return
		}
		got, _ := readText(t, in, Options{})
		if strings.Contains(got, "\n\n") || strings.TrimSpace(got) != got && strings.TrimFunc(got, func(r rune) bool { return r == ' ' || r == '\n' }) != got {
			t.Errorf("bad text %q of %q", got, in)
		}
	})
}
