//go:build unix

package main

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/realdata"
)

// A hostileCase is the expected result for a hostile file: an exit code and words of
// the message, or counts.
type hostileCase struct {
	code   int
	words  []string // of the one line, or of a note where the code is 0
	counts map[string]int64
}

func refused(code int, words ...string) hostileCase { return hostileCase{code: code, words: words} }

// whole is a dump in which every page counts.
func whole(pages, documents int64, notes ...string) hostileCase {
	return hostileCase{words: notes, counts: map[string]int64{"pages": pages, "documents": documents}}
}

// oneSentence are the warnings of the examples stage if the only document is one
// sentence.
var oneSentence = []string{"shards with one document", "the second segment"}

// hostileDumps are the expected results for the dumps listed in hostile.json. It
// says: 120 pages, of which 112 are articles with text; the dumps in xml/ have 12
// valid pages on either side of a bad one.
var hostileDumps = map[string]hostileCase{
	"dump/good.xml.bz2":                whole(120, 112),
	"dump/cut-in-stream.xml.bz2":       refused(4, "byte 38257", "file ends inside a bzip2 stream"),
	"dump/cut-at-stream-end.xml.bz2":   whole(60, 54, "does not end with </mediawiki>"),
	"dump/bit-flip.xml.bz2":            refused(4, "byte 38257", "block checksum mismatch"),
	"dump/bad-magic.xml.bz2":           refused(4, "byte 38253", "not a bzip2 stream header"),
	"dump/no-footer.xml.bz2":           whole(120, 112, "does not end with </mediawiki>"),
	"dump/no-header.xml.bz2":           whole(120, 112),
	"dump/garbage-tail.xml.bz2":        whole(120, 112, "bytes after the end of a dump were ignored"),
	"dump/zero-tail.xml.bz2":           whole(120, 112, "bytes after the end of a dump were ignored"),
	"dump/empty-streams.xml.bz2":       whole(120, 112),
	"dump/page-across-streams.xml.bz2": whole(120, 112),
	"dump/empty.xml.bz2":               refused(4, "file is empty"),
	"dump/empty-stream-only.xml.bz2":   refused(4, "compressed file is empty"),
	"dump/not-bz2.xml.bz2":             refused(4, "file ends inside a page"), // XML, and cut
	"dump/gzip-as.bz2":                 whole(120, 112),
	"dump/bom-crlf.xml.bz2":            whole(120, 112),
	"dump/one-line.xml.bz2":            whole(120, 112),
	"dump/good-index.txt.bz2":          refused(2, "not a pages dump but the index of a multistream dump"),

	"xml/amp.xml":         whole(25, 23),
	"xml/unclosed.xml":    whole(25, 23),
	"xml/mismatch.xml":    {counts: map[string]int64{"pages": 25, "documents": 22, "reject.malformed": 1}},
	"xml/dup-attr.xml":    whole(25, 23),
	"xml/control.xml":     whole(25, 23),
	"xml/charref.xml":     whole(25, 23),
	"xml/cdata.xml":       whole(25, 23),
	"xml/comment.xml":     whole(25, 23),
	"xml/nested-page.xml": {counts: map[string]int64{"pages": 26, "documents": 22, "reject.malformed": 1, "reject.unterminated": 1}},
	"xml/bad-utf8.xml.bz2": {words: []string{"invalid UTF-8"},
		counts: map[string]int64{"pages": 25, "documents": 23, "invalid_utf8_bytes": 15}},
	"xml/bad-utf8-scattered.xml.bz2": {words: []string{"invalid UTF-8"}, counts: map[string]int64{"pages": 120, "documents": 112}},
	"xml/doctype-bomb.xml":           {words: oneSentence, counts: map[string]int64{"documents": 1, "text_bytes": 3}}, // "&j;", not expanded
	"xml/external-entity.xml":        {words: oneSentence, counts: map[string]int64{"documents": 1, "text_bytes": 5}}, // "[&e;]", not read
	"xml/odd-pages.xml":              {words: []string{"have the ID of another one", "8 malformed", "the second segment"}, counts: map[string]int64{"pages": 23}},

	"size/huge-page.xml.bz2":     {counts: map[string]int64{"pages": 21, "reject.too-large": 1}},
	"size/one-line-page.xml.bz2": refused(4, "no documents", "rejected: 1 empty"),
	"size/no-space.xml.bz2":      whole(1, 1, "a sentence has 1000002 tokens", "shards with one document", "the second segment"),
	"size/tiny-pages.xml.bz2":    whole(100000, 100000, "the second segment"),
	"size/bz2-bomb.xml.bz2":      refused(4, "no documents", "rejected: 1 too-large"),
	"size/deep-nesting.xml.bz2":  {counts: map[string]int64{"pages": 15}},
}

var hostileBooks = map[string]hostileCase{
	"books/empty.txt":              refused(4, "no documents", "1 empty"),
	"books/blank.txt":              refused(4, "no documents", "1 empty"),
	"books/crlf.txt":               book(198416),
	"books/cr-only.txt":            book(198416),
	"books/bom.txt":                book(198416),
	"books/latin1.txt":             book(0),
	"books/utf16le.txt":            book(198416),
	"books/nul.txt":                refused(4, "no documents", "1 binary"),
	"books/one-line.txt":           book(198416),
	"books/word-per-line.txt":      book(104902),
	"books/no-punctuation.txt":     book(0),
	"books/binary.txt":             refused(4, "no documents", "1 binary"),
	"books/ünï cödé  name (1).txt": book(0),
}

// book is a book that is read, with so many bytes of text; 0: any number.
func book(text int64) hostileCase {
	counts := map[string]int64{"files": 1, "documents": 1}
	if text > 0 {
		counts["text_bytes"] = text
	}
	return hostileCase{counts: counts, words: []string{"shards with one document"}}
}

// maxMB is the maximum memory of the whole program with default flags and two
// workers.
const maxMB = 600

func TestHostileSourcesAreReadOrRefusedInOneLine(t *testing.T) {
	t.Parallel()
	root := realdata.Path(t, "hostile")
	vocab := realdata.Path(t, "vocab/bert-base-uncased-vocab.txt")
	for flag, cases := range map[string]map[string]hostileCase{"--wiki-dump": hostileDumps, "--books": hostileBooks} {
		for name, want := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				out := t.TempDir()
				p := prepareData(t, "run", "--quiet", "--json", "--workers=2", "--dupe-factor=1", flag, filepath.Join(root, name), "--vocab", vocab, "--out", out)
				if got := p.code(t); got != want.code {
					t.Errorf("exit code %d, want %d: %s", got, want.code, p.stderr.String())
				}
				if got := p.peakMB(); got >= maxMB {
					t.Errorf("%d MB of memory, want less than %d", got, maxMB)
				}
				noTemporary(t, name, out, p.temp)
				manifestsHold(t, out, name)
				if want.code != 0 {
					p.oneLine(t, append(want.words, filepath.Base(name))...)
					if files, _ := filepath.Glob(filepath.Join(out, "shards", "*")); len(files) > 0 {
						t.Errorf("after a refusal: %v", files)
					}
					return
				}
				want.check(t, p)
			})
		}
	}
	everyFileHasACase(t, root, "dump", "xml", "size", "books")
}

// check compares the first stage's counts, notes and warnings with the case. A
// warning that the case does not name is an error.
func (want hostileCase) check(t *testing.T, p *process) {
	t.Helper()
	var result struct {
		Stages []struct{ Counts map[string]int64 }
	}
	if err := json.Unmarshal(p.stdout.Bytes(), &result); err != nil || len(result.Stages) != 3 {
		t.Fatalf("%d stages in the result, want 3 (%v): %s", len(result.Stages), err, p.stdout.String())
	}
	counts := result.Stages[0].Counts
	for key, n := range want.counts {
		if counts[key] != n {
			t.Errorf("%s: got %d, want %d of all %v", key, counts[key], n, counts)
		}
	}
	sum := counts["documents"]
	for key, n := range counts {
		if strings.HasPrefix(key, "reject.") {
			sum += n
		}
	}
	if pages, dump := counts["pages"]; dump && pages != sum {
		t.Errorf("%d pages, but %d documents and rejects", pages, sum)
	}
	for line := range strings.Lines(p.stderr.String()) {
		isWarning := strings.Contains(line, ": warning: ")
		if isWarning && strings.Contains(line, "of the words lose marks") {
			continue // the dumps are Latgalian, the vocabulary is English and uncased
		}
		expected := slices.ContainsFunc(want.words, func(word string) bool { return strings.Contains(line, word) })
		if !strings.Contains(line, ": note: ") && !(isWarning && expected) {
			t.Errorf("on standard error: %q", line)
		}
	}
	for _, word := range want.words {
		if !strings.Contains(p.stderr.String(), word) {
			t.Errorf("want a note with %q, got %q", word, p.stderr.String())
		}
	}
}

// everyFileHasACase requires that each file of the folders has a case here.
func everyFileHasACase(t *testing.T, root string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name := folder + "/" + d.Name()
			for _, cases := range []map[string]hostileCase{hostileDumps, hostileBooks, hostileRecords, hostileVocabularies} {
				if _, ok := cases[name]; ok {
					return nil
				}
			}
			t.Errorf("%s has no case", name)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

var hostileVocabularies = map[string]hostileCase{
	"vocab/duplicate.txt":        refused(4, "line 1501"),
	"vocab/no-mask.txt":          refused(4, "[MASK] is missing"),
	"vocab/crlf.txt":             {},
	"vocab/no-final-newline.txt": {},
	"vocab/blank-line.txt":       {},
	"vocab/bom.txt":              refused(4, "byte order mark"),
	"vocab/not-utf8.txt":         refused(4, "line 1001", "invalid UTF-8"),
	"vocab/empty.txt":            refused(4, "empty"),
	"vocab/trailing-space.txt":   {},
}

func TestHostileVocabulariesAreRefusedWhereverTheyAreRead(t *testing.T) {
	t.Parallel()
	root := realdata.Path(t, "hostile")
	dump := filepath.Join(root, "dump/good.xml.bz2")
	for name, want := range hostileVocabularies {
		t.Run(name, func(t *testing.T) {
			vocab := filepath.Join(root, name)
			out := t.TempDir()
			filter := prepareData(t, "tokenize", "--vocab", vocab)
			filter.Stdin = strings.NewReader("a b\n")
			for _, p := range []*process{filter,
				prepareData(t, "run", "--quiet", "--dupe-factor=1", "--wiki-dump", dump, "--vocab", vocab, "--out", out)} {
				if want.code == 0 {
					p.succeed(t)
				} else {
					p.fail(t, want.code, append(want.words, vocab)...)
				}
			}
			noTemporary(t, name, out)
			if want.code != 0 && len(readTree(t, out)) > 0 {
				t.Errorf("work was begun: %v", readTree(t, out))
			}
			if want.code == 0 {
				prepareData(t, "verify", out).succeed(t)
			}
		})
	}
	everyFileHasACase(t, root, "vocab")
}

// hostileRecords: verify's code, and the place that it names. Which records are
// whole is in hostile.json.
var hostileRecords = map[string]hostileCase{
	"tfrecord/good.tfrecord":               {words: []string{"60 records"}},
	"tfrecord/cut-in-data.tfrecord":        refused(4, "byte 24537", "truncated record"),
	"tfrecord/cut-in-header.tfrecord":      refused(4, "byte 24537", "truncated header"),
	"tfrecord/cut-in-footer.tfrecord":      refused(4, "byte 24537", "truncated record"),
	"tfrecord/bad-length-crc.tfrecord":     refused(4, "byte 24537", "length checksum mismatch"),
	"tfrecord/bad-data-crc.tfrecord":       refused(4, "byte 24537", "data checksum mismatch"),
	"tfrecord/huge-length.tfrecord":        refused(4, "byte 24537", "1152921504606846976"),
	"tfrecord/zero-length-record.tfrecord": refused(4, "record 30", "input_ids: missing"), // sound framing, no example
	"tfrecord/trailing-zeros.tfrecord":     refused(4, "byte 49090"),
	"tfrecord/not-a-proto.tfrecord":        refused(4, "record 0", "not a tf.train.Example"),
	"tfrecord/missing-feature.tfrecord":    refused(4, "record 3", "segment_ids: missing"),
	"tfrecord/short-feature.tfrecord":      refused(4, "record 3", "input_ids"),
	"tfrecord/ids-too-big.tfrecord":        refused(4, "record 3", "beyond 32 bits"),
	"tfrecord/ids-negative.tfrecord":       refused(4, "record 3", "negative"),
	"tfrecord/wrong-type.tfrecord":         refused(4, "record 3", "input_ids"),
	"tfrecord/unpacked.tfrecord":           refused(4, "record 0", "masked_lm_weights: missing"), // sound lists, but only three of them
	"tfrecord/cut.tfrecord.gz":             refused(4, "truncated gzip stream"),
	"tfrecord/bad-crc.tfrecord.gz":         refused(4, "checksum"),
	"tfrecord/two-members.tfrecord.gz":     {words: []string{"60 records"}},
	"tfrecord/empty.tfrecord":              {words: []string{"0 records"}},
}

func TestHostileRecordsAreReportedWithTheirPlace(t *testing.T) {
	t.Parallel()
	root := realdata.Path(t, "hostile")
	for name, want := range hostileRecords {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(root, name)
			verify := prepareData(t, "verify", path)
			if want.code == 0 {
				verify.succeed(t)
			} else {
				verify.fail(t, want.code, path, "damaged")
			}
			for _, word := range want.words {
				if !strings.Contains(verify.stdout.String(), word) {
					t.Errorf("verify: want %q, got %q", word, verify.stdout.String())
				}
			}
			for _, args := range [][]string{{"head", "--examples=1000", path}, {"inspect", "--values", path}, {"head", "--json", "-n", "0", path}} {
				p := prepareData(t, args...)
				if code := p.code(t); want.code == 0 && code != 0 || code != 0 && code != 4 {
					t.Errorf("%v: exit code %d: %s", args[0], code, p.stderr.String())
				} else if code != 0 {
					p.oneLine(t, path)
				}
				if mb := p.peakMB(); mb >= maxMB {
					t.Errorf("%v: %d MB of memory", args[0], mb)
				}
			}
		})
	}
	everyFileHasACase(t, root, "tfrecord")
}
