package books

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"pretext/extract"
	"pretext/extract/text"
	"pretext/internal/dev/realdata"
)

const wrapped = `CHAPTER I

It was a morning on which nobody in the house had meant to get up before
the milk was brought, and yet at six o'clock all of them stood in the
hall and looked at the door, which was open.

"Who left it so?" said the eldest of the sisters; but no-one could re-
member, and the cat, who knew, did not speak.

    The door stood wide,
    The wind came in;
    And none inside
    Had shut it in.

So they went out to look. The garden lay quite still, and at the end of
it, on the wall that parts it from the lane, a stranger sat and whistled
a tune which they all knew--
but none could name.
`

func TestWrappedLinesBecomeParagraphs(t *testing.T) {
	got, _ := readText(t, wrapped, Options{})
	want := strings.Join([]string{
		"CHAPTER I",
		"It was a morning on which nobody in the house had meant to get up before the milk was brought, and yet at six o'clock all of them stood in the hall and looked at the door, which was open.",
		`"Who left it so?" said the eldest of the sisters; but no-one could re-member, and the cat, who knew, did not speak.`,
		"The door stood wide,", "The wind came in;", "And none inside", "Had shut it in.",
		"So they went out to look. The garden lay quite still, and at the end of it, on the wall that parts it from the lane, a stranger sat and whistled a tune which they all knew--",
		"but none could name.",
	}, "\n")
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
}

func TestBreaksOfLines(t *testing.T) {
	prose := strings.Repeat("a line of some prose that is broken at the right margin, as it\nhas always been done where a machine of sixty columns wrote it all\n", 10)
	for _, test := range []struct {
		name, in, want string
		opts           Options
	}{
		{"a sentence a line", "One sentence.\nAnother one!\n\"A third?\"\nhe asked .\n", "One sentence.\nAnother one!\n\"A third?\"\nhe asked .", Options{}},
		{"a sentence a line, tokens apart", "`` what ? ''\nhe said nothing .\nthen ( at last ) .\n", "`` what ? ''\nhe said nothing .\nthen ( at last ) .", Options{}},
		{"a paragraph a line", strings.Repeat("x y ", 40) + "and\n" + strings.Repeat("z ", 90) + "end\nlast", strings.TrimSpace(strings.Repeat("x y ", 40)) + " and\n" + strings.Repeat("z ", 90) + "end\nlast", Options{}},
		{"a word a line", "all\nthe\nwords\nof\nit\n", "all the words of it", Options{}},
		{"every line asked for", "all\nthe\n\n\nwords\n", "all\nthe\nwords", Options{KeepLines: true}},
		{"Chinese lines join without a space", strings.Repeat(strings.Repeat("山", 35)+"\n", 3), strings.Repeat("山", 105), Options{}},
		{"Chinese paragraphs by indentation", strings.Repeat("　　山水。\n", 3), "山水。\n山水。\n山水。", Options{}},
		{"Korean lines join with one", "가나다 라\n마바", "가나다 라 마바", Options{}},
		{"blank lines of all kinds", "a\n\u00a0\nb\n\f\nc\n\v\u3000\nd", "a\nb\nc\nd", Options{}},
		{"a paragraph by indentation", prose + "    and then there was an indented line that began something new,\nand it went on\n", strings.TrimSpace(strings.ReplaceAll(prose, "\n", " ")) + "\nand then there was an indented line that began something new, and it went on", Options{}},
		{"a hanging indentation is none", prose + "1. a point of a list which is so long that it must be broken as a\n   whole at the margin, with its own lines under each other, and is\n   not ended", strings.TrimSpace(strings.ReplaceAll(prose, "\n", " ")) + " 1. a point of a list which is so long that it must be broken as a whole at the margin, with its own lines under each other, and is not ended", Options{}},
		{"a dash takes no space", "the end--\nor not - \nto say\n", "the end--or not - to say", Options{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, _ := readText(t, test.in, test.opts)
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func utf16Bytes(s string, big bool) string {
	var b []byte
	for _, u := range append([]uint16{0xFEFF}, utf16.Encode([]rune(s))...) {
		if big {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

func windows1252(s string) string {
	s = strings.NewReplacer("é", "\xe9", "ü", "\xfc", "“", "\x93", "”", "\x94", "’", "\x92", "—", "\x97", "ç", "\xe7").Replace(s)
	if !isASCII(strings.NewReplacer("\xe9", "", "\xfc", "", "\x93", "", "\x94", "", "\x92", "", "\x97", "", "\xe7", "").Replace(s)) {
		panic("BUG: character without a code")
	}
	return s
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

const accents = "“Ça va?” — not quite; the café’s über-garçon was déjà vu, and so on.\nAnother line."

func TestEncodings(t *testing.T) {
	plain := strings.ReplaceAll(strings.ReplaceAll(accents, "Ç", "ç"), "à", "a")
	koi8 := "\xf0\xd2\xc9\xd7\xc5\xd4, \xcd\xc9\xd2! \xfc\xd4\xcf \xd4\xc5\xcb\xd3\xd4."
	polish := "Za\xbf\xf3\xb3\xe6 g\xea\x9cl\xb9 ja\x9f\xf1. Zwyk\xb3y tekst z ma\xb3\xb9 liczb\xb9 liter."
	for _, test := range []struct {
		name, in, want string
		stats          Stats
	}{
		{"UTF-8", plain, plain, Stats{}},
		{"UTF-8 with a mark", "\xef\xbb\xbf" + plain, plain, Stats{}},
		{"UTF-16, little end first", utf16Bytes(plain, false), plain, Stats{Recoded: 1}},
		{"UTF-16, big end first", utf16Bytes(plain, true), plain, Stats{Recoded: 1}},
		{"Windows-1252", windows1252(plain), plain, Stats{Recoded: 1, Notes: []Note{{"book.txt", "not UTF-8, read as Windows-1252"}}}},
		{"UTF-8 with a cut character", plain + strings.Repeat(" a", 500) + "\xe2\x80", plain + strings.Repeat(" a", 500),
			Stats{InvalidBytes: 2, Notes: []Note{{"book.txt", "bytes that are not UTF-8 were dropped"}}}},
		{"Cyrillic in KOI8-R", koi8, "Привет, мир! Это текст.", Stats{Recoded: 1, Notes: []Note{{"book.txt", "not UTF-8, read as KOI8-R"}}}},
		{"Polish in Windows-1250", polish, "Zażółć gęślą jaźń. Zwykły tekst z małą liczbą liter.", Stats{Recoded: 1, Notes: []Note{{"book.txt", "not UTF-8, read as windows-1250"}}}},
		{"a few bytes in KOI8-R", koi8[:8], "", Stats{Rejects: map[extract.Reject]int64{"encoding": 1}, Notes: []Note{{"book.txt", "neither UTF-8 nor Windows-1252"}}}},
		{"UTF-32", "\xff\xfe\x00\x00a\x00\x00\x00", "", Stats{Rejects: map[extract.Reject]int64{"encoding": 1}, Notes: []Note{{"book.txt", "UTF-32"}}}},
		{"NUL", "some text\x00 and more", "", Stats{Rejects: map[extract.Reject]int64{"binary": 1}}},
		{"control characters", "\x01\x02 text", "", Stats{Rejects: map[extract.Reject]int64{"binary": 1}}},
		{"the end mark of DOS", "Some text.\r\n\x1a", "Some text.\n\x1a", Stats{}},
		{"nothing", "", "", Stats{Rejects: map[extract.Reject]int64{"empty": 1}}},
		{"a mark alone", "\xef\xbb\xbf", "", Stats{Rejects: map[extract.Reject]int64{"empty": 1}}},
		{"blanks", " \r\n\t\u3000\u2028\n", "", Stats{Rejects: map[extract.Reject]int64{"empty": 1}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, stats := readText(t, test.in, Options{})
			if diff := gocmp.Diff(test.want, got); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			test.stats.Books = 1
			if test.want != "" {
				test.stats.Kept = 1
			}
			if test.stats.Rejects == nil {
				test.stats.Rejects = map[extract.Reject]int64{}
			}
			if diff := gocmp.Diff(test.stats, stats); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLineEndsDoNotMatter(t *testing.T) {
	want, _ := readText(t, wrapped, Options{})
	for name, end := range map[string]string{"CRLF": "\r\n", "CR": "\r"} {
		if got, _ := readText(t, strings.ReplaceAll(wrapped, "\n", end), Options{}); got != want {
			t.Errorf("%s: other text:\n%s", name, gocmp.Diff(want, got))
		}
	}
}

func TestProjectGutenbergsOwnTextGoes(t *testing.T) {
	head := "The Project Gutenberg eBook of A Book\n\nThis ebook is for the use of anyone.\n\n"
	tail := "\n\nUpdated editions will replace the previous one.\n"
	for name, test := range map[string]struct{ in, want string }{
		"new":         {head + "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK ***\n\n\nBody.\n\n\n*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***" + tail, "Body."},
		"old":         {head + "***START OF THIS PROJECT GUTENBERG EBOOK A BOOK***\n\nBody.\n\nEnd of Project Gutenberg's A Book, by Someone\n\n*** END OF THIS PROJECT" + tail, "Body."},
		"older":       {head + "*END*THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*\n\nBody.\n\nEnd of the Project Gutenberg Etext of A Book\n" + tail, "Body."},
		"long title":  {head + "*** START OF THE PROJECT GUTENBERG EBOOK A BOOK OF VERY\nLONG TITLE ***\n\nBody.\n", "Body."},
		"end alone":   {"Body.\n\n*** END OF THE PROJECT GUTENBERG EBOOK A BOOK ***" + tail, "Body."},
		"no markers":  {"The End of the Project Gutenberg is a sad tale.\n", "The End of the Project Gutenberg is a sad tale."},
		"other stars": {"***\n\nSTART OF THE DAY\n", "START OF THE DAY"},
		"French":      {head + "*** START OF THE PROJECT GUTENBERG EBOOK UN LIVRE ***\n\nBody.\n\nFin du Projet Gutenberg EBook de Un livre\n" + tail, "Body."},
		"German":      {"Body.\n\nEnde dieses Projekt Gutenberg Etextes Ein Buch\n" + tail, "Body."},
		"Australia":   {"Title: A Book\n\nProject Gutenberg Australia\neBooks are created from printed editions.\n\nTo contact Project Gutenberg of Australia go to http://gutenberg.net.au\n\nBody.\n", "Body."},
		"Canada":      {"* A Distributed Proofreaders Canada eBook *\n\nThis eBook is made at no cost. It was made by the team at\nhttp://www.pgdpcanada.net\n\nBody.\n\n[End of A Book, by Someone]\n", "Body."},
		"a fine day":  {"Fin died.\n\nEnde gut.\n", "Fin died.\nEnde gut."},
	} {
		got, stats := readText(t, test.in, Options{})
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
		if trimmed := name != "no markers" && name != "other stars" && name != "a fine day"; (stats.Trimmed == 1) != trimmed {
			t.Errorf("%s: %d trimmed", name, stats.Trimmed)
		}
		if kept, _ := readText(t, test.in, Options{KeepBoilerplate: true}); len(kept) < len(test.in)-8*strings.Count(test.in, "\n") {
			t.Errorf("%s: with boilerplate kept: got %q", name, kept)
		}
	}
}

func TestTooLargeBooksAreRejected(t *testing.T) {
	for name, test := range map[string]struct {
		in   string
		kept bool
	}{
		"at the limit":                 {strings.Repeat("x", 100), true},
		"over it":                      {strings.Repeat("x", 101), false},
		"at it, in lines":              {strings.Repeat("123456789\n", 9) + "1234567890", true},
		"over it, in lines":            {strings.Repeat("123456789\n", 9) + "12345678901", false},
		"blanks around":                {strings.Repeat(" ", 300) + strings.Repeat("x", 100) + strings.Repeat(" ", 300), true},
		"blanks inside":                {"x" + strings.Repeat(" ", 300) + "x", false},
		"at it, after decoding":        {strings.Repeat("x", 80) + strings.Repeat("\xe9", 10), true},
		"over it, after decoding":      {strings.Repeat("x", 81) + strings.Repeat("\xe9", 10), false},
		"over it only before decoding": {strings.Repeat("é", 60)[:100], true},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader} {
			r := NewReader(memory{}, Task{Path: "t"}, Options{})
			r.limit = 100
			b, err := r.plain("b", wrap(strings.NewReader(test.in)))
			if err != nil {
				t.Fatal(err)
			}
			if test.kept != (b.reject == "") || !test.kept && b.reject != extract.RejectTooLarge {
				t.Errorf("%s: got reject %q of a text of %d bytes", name, b.reject, len(b.text))
			}
		}
	}
}

// plainParagraphs is the layout rule without cleverness, for UTF-8 that is
// kept line by line.
func plainParagraphs(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		if line = strings.TrimFunc(line, text.IsBlank); line != "" {
			out = append(out, line)
		}
	}
	return strings.Join(out, "\n")
}

func FuzzPlain(f *testing.F) {
	f.Add([]byte(wrapped), 7)
	f.Add([]byte(windows1252("“café”\r\rça")), 1)
	f.Add([]byte(utf16Bytes("ab\r\ncd", true)), 3)
	f.Add([]byte("\u3000\u3000山\r\n\xe3\x80\r水"), 2)
	f.Fuzz(func(t *testing.T, b []byte, chunk int) {
		if len(b) > 1<<16 {
			return
		}
		chunk = 1 + int(uint(chunk)%100)
		whole := NewReader(memory{}, Task{Path: "t"}, Options{KeepBoilerplate: true})
		got, err := whole.plain("b", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		slow := NewReader(memory{}, Task{Path: "t"}, Options{KeepBoilerplate: true})
		again, err := slow.plain("b", &chunks{b, chunk})
		if err != nil {
			t.Fatal(err)
		}
		if string(again.text) != string(got.text) || again.reject != got.reject || whole.stats.InvalidBytes != slow.stats.InvalidBytes {
			t.Fatalf("in chunks of %d: got %q (%s), want %q (%s)", chunk, again.text, again.reject, got.text, got.reject)
		}
		if !utf8.Valid(got.text) || len(text.Strip(got.text)) != len(got.text) || bytes.Contains(got.text, []byte("\n\n")) {
			t.Fatalf("bad text %q", got.text)
		}
		if got.reject != "" || !utf8.Valid(b) || bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) {
			return
		}
		lines := NewReader(memory{}, Task{Path: "t"}, Options{KeepBoilerplate: true, KeepLines: true})
		kept, err := lines.plain("b", bytes.NewReader(b))
		if want := plainParagraphs(string(b)); err != nil || string(kept.text) != want {
			t.Fatalf("lines kept: got %q, %v; want %q", kept.text, err, want)
		}
		// Joining changes white space and hyphens only.
		if flat, want := noSpace(string(got.text)), noSpace(string(kept.text)); flat != want {
			t.Fatalf("joined: got %q, want %q", flat, want)
		}
	})
}

func noSpace(s string) string {
	return strings.NewReplacer(" ", "", "\n", "", "-", "", "\u00ad", "").Replace(s)
}

// chunks reads n bytes at a time.
type chunks struct {
	b []byte
	n int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:min(c.n, len(c.b))])
	c.b = c.b[n:]
	return n, nil
}

func TestHostileTextFiles(t *testing.T) {
	dir := realdata.Path(t, "hostile/books")
	tasks, err := Plan(Local{}, []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(Local{}, tasks[0], Options{})
	docs, err := drain(r)
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]string{}
	for _, d := range docs {
		byID[strings.TrimPrefix(d.ID, "books:")] = d.Text
	}
	for _, name := range []string{"cr-only.txt", "crlf.txt", "utf16le.txt"} {
		if byID[name] == "" || byID[name] != byID["bom.txt"] {
			t.Errorf("%s: other text than bom.txt", name)
		}
	}
	if got := strings.Count(byID["latin1.txt"], "\n"); got != strings.Count(byID["bom.txt"], "\n") || strings.Contains(byID["latin1.txt"], "\ufffd") {
		t.Errorf("latin1.txt: %d lines", got)
	}
	if strings.Contains(byID["word-per-line.txt"], "\n") || strings.Contains(byID["one-line.txt"], "\n") {
		t.Error("a line break in a book of one paragraph")
	}
	want := Stats{
		Books: 13, Kept: 9, Recoded: 2, Apparatus: 1, Rejects: map[extract.Reject]int64{extract.RejectBinary: 2, extract.RejectEmpty: 2},
		Notes: []Note{{"latin1.txt", "not UTF-8, read as Windows-1252"}},
	}
	if diff := gocmp.Diff(want, r.Stats()); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

// The same books, wrapped in the one folder and with a paragraph a line in the
// other, must give nearly the same paragraphs: only verse and the like, which
// the latter runs together, may differ.
func TestRealBooksUnwrapToTheirParagraphs(t *testing.T) {
	dir := realdata.Path(t, "books")
	tasks, err := Plan(Local{}, []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	docs, err := drain(NewReader(Local{}, tasks[0], Options{}))
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) != 10 {
		t.Fatalf("got %d books, want 10", len(docs))
	}
	byID := map[string]string{}
	for _, d := range docs {
		byID[strings.TrimPrefix(d.ID, "books:")] = d.Text
	}
	for wrapped, flat := range map[string]string{
		"txt/36_the_war_of_the_worlds.txt":                 "bookcorpus-layout/out_txts/36__the-war-of-the-worlds.txt",
		"txt/84_frankenstein_or_the_modern_prometheus.txt": "bookcorpus-layout/out_txts/84__frankenstein-or-the-modern-prometheus.txt",
		"txt/11_alices_adventures_in_wonderland.txt":       "bookcorpus-layout/out_txts/11__alices-adventures-in-wonderland.txt",
	} {
		known := map[string]bool{}
		for line := range strings.SplitSeq(byID[flat], "\n") {
			known[strings.Join(strings.Fields(line), " ")] = true
		}
		lines, same := strings.Split(byID[wrapped], "\n"), 0
		for _, line := range lines {
			if known[strings.Join(strings.Fields(line), " ")] {
				same++
			}
		}
		if share := float64(same) / float64(len(lines)); share < 0.8 {
			t.Errorf("%s: %.3f of %d paragraphs are those of %s", wrapped, share, len(lines), flat)
		} else {
			t.Logf("%s: %.3f of %d paragraphs", wrapped, share, len(lines))
		}
	}
}

func BenchmarkPlain(b *testing.B) {
	book := strings.Repeat(wrapped, 2000)
	for name, content := range map[string]string{"UTF-8": book, "CRLF": strings.ReplaceAll(book, "\n", "\r\n"), "Windows-1252": strings.ReplaceAll(book, "milk", "m\xeflk")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader(memory{}, Task{Path: "t"}, Options{})
				if got, err := r.plain("b", strings.NewReader(content)); err != nil || got.reject != "" {
					b.Fatal(err, got.reject)
				}
			}
		})
	}
}
