package tfrecord

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func readIndex(b []byte) ([]Span, error) {
	x := NewIndexReader(bytes.NewReader(b))
	var out []Span
	for {
		s, err := x.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, s)
	}
}

func TestIndexFindsEveryRecord(t *testing.T) {
	payloads := sample(50)
	payloads = append(payloads, make([]byte, 3*readBufferBytes))
	file := frames(payloads...)
	var index []byte
	r := NewReader(bytes.NewReader(file), ReaderOptions{})
	for {
		start := r.Offset()
		if _, err := r.Next(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		index = AppendIndex(index, Span{start, r.Offset() - start})
	}
	spans, err := readIndex(index)
	if err != nil || len(spans) != len(payloads) {
		t.Fatalf("got %d spans, %v, want %d", len(spans), err, len(payloads))
	}
	buf := make([]byte, 64)
	for i, s := range spans {
		got, err := ReadAt(bytes.NewReader(file), s, buf)
		if err != nil || !bytes.Equal(got, payloads[i]) {
			t.Fatalf("record %d: got %d bytes, %v", i, len(got), err)
		}
	}
}

func TestIndexIsTextOfTwoNumbersALine(t *testing.T) {
	got := AppendIndex(AppendIndex(nil, Span{0, 818}), Span{818, 820})
	if want := "0 818\n818 820\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBadIndexLinesAreReportedWithTheirNumber(t *testing.T) {
	for name, c := range map[string]struct {
		index string
		want  string
	}{
		"words":            {"0 16\nnot numbers\n", "index line 2: not two numbers"},
		"one number":       {"5\n", "index line 1: not two numbers"},
		"three numbers":    {"1 2 3\n", "index line 1: not two numbers"},
		"blank line":       {"0 16\n\n16 16\n", "index line 2: not two numbers"},
		"negative":         {"-1 20\n", "index line 1: not two numbers"},
		"sign":             {"+1 20\n", "index line 1: not two numbers"},
		"beyond int64":     {"9223372036854775808 20\n", "index line 1: not two numbers"},
		"end overflows":    {"9223372036854775807 20\n", "index line 1: offset 9223372036854775807 is beyond any file"},
		"short record":     {"0 15\n", "index line 1: 15 bytes cannot be a record"},
		"long record":      {"0 1073741841\n", "index line 1: 1073741841 bytes cannot be a record"},
		"endless line":     {strings.Repeat("0", 100000), "index line 1: line too long"},
		"long line":        {strings.Repeat("0", 65) + " 16\n", "index line 1: line too long"},
		"records, no text": {string(frames([]byte("x"))), "index line 1: not two numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readIndex([]byte(c.index))
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("%v is not ErrCorrupt", err)
			}
		})
	}
}

func TestIndexLinesMayEndInCRLFAndTheLastInNothing(t *testing.T) {
	got, err := readIndex([]byte("0 16\r\n16 17"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Span{{0, 16}, {16, 17}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIndexReaderPassesErrorsOfTheSource(t *testing.T) {
	broken := errors.New("disk on fire")
	x := NewIndexReader(io.MultiReader(strings.NewReader("0 16\n1"), iotest.ErrReader(broken)))
	if _, err := x.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := x.Next(); !errors.Is(err, broken) || errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want the error of the source", err)
		}
	}
}

func TestReadAtRefusesWhatIsNoFrameThere(t *testing.T) {
	file := frames([]byte("one"), []byte("two!"))
	bad := bytes.Clone(file)
	bad[headerBytes] ^= 1
	for name, c := range map[string]struct {
		file []byte
		span Span
		want string
	}{
		"shifted":   {file, Span{1, 19}, "corrupt record at byte 1: length checksum mismatch"},
		"too long":  {file, Span{0, 20}, "corrupt record at byte 0: length 19 where the index says 20"},
		"too short": {file, Span{0, 16}, "corrupt record at byte 0: length 19 where the index says 16"},
		"beyond":    {file, Span{19, 21}, "corrupt record at byte 19: truncated record"},
		"far away":  {file, Span{math.MaxInt64 - 16, 16}, "corrupt record at byte 9223372036854775791: truncated record"},
		"huge":      {file, Span{0, MaxRecordBytes}, "corrupt record at byte 0: truncated record"},
		"negative":  {file, Span{-1, 19}, "corrupt record at byte -1: span of 19 bytes cannot be a record"},
		"tiny":      {file, Span{0, 3}, "corrupt record at byte 0: span of 3 bytes cannot be a record"},
		"damaged":   {bad, Span{0, 19}, "corrupt record at byte 0: data checksum mismatch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadAt(bytes.NewReader(c.file), c.span, nil)
			if err == nil || err.Error() != c.want || !errors.Is(err, ErrCorrupt) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func FuzzIndexReader(f *testing.F) {
	f.Add([]byte("0 16\n16 818\n"))
	f.Add([]byte("0 16\r\n007 0000020"))
	f.Fuzz(func(t *testing.T, index []byte) {
		spans, err := readIndex(index)
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt or nothing", err)
		}
		var again []byte
		for _, s := range spans {
			if s.Offset < 0 || s.Length < FrameBytes || s.Offset+s.Length < 0 {
				t.Fatalf("got impossible span %+v", s)
			}
			again = AppendIndex(again, s)
		}
		back, err := readIndex(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spans, back); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

func TestLinesOfAnIndexAreDecimal(t *testing.T) {
	var got, want []byte
	add := func(s Span) {
		got = AppendIndex(got, s)
		want = fmt.Appendf(want, "%d %d\n", s.Offset, s.Length)
	}
	for _, n := range []int64{-1, math.MinInt64, 0, 9, 10, 99, 100, 101, 999, 1000, 12345, math.MaxInt64} {
		for _, m := range []int64{-7, 0, 5, 42, 100, 987, math.MaxInt64} {
			add(Span{n, m})
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1_000_000 {
		add(Span{r.Int64() >> r.IntN(63), r.Int64() >> r.IntN(63)})
	}
	if !bytes.Equal(got, want) {
		t.Error("other lines")
	}
}
