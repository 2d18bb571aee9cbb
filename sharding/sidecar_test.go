package sharding

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wholeSideCar is the reference of ParseSideCarHead: it parses all of a side-car
// and removes the body.
func wholeSideCar(raw []byte) (*SideCar, error) {
	var s SideCar
	if err := parseJSON(raw, &s); err != nil {
		return nil, err
	}
	s.Body = nil
	return &s, nil
}

// awkwardNames are texts that a search for the body could take for it.
var awkwardNames = []string{"a", "body", `,"body":`, `x","body":{`, `\`, `"`, "<&>", "\u2028", "\xff", "ж"}

func drawSideCar(t *rapid.T) SideCar {
	name := rapid.SampledFrom(awkwardNames)
	entry := rapid.Custom(func(t *rapid.T) FileEntry {
		return FileEntry{Name: name.Draw(t, "name"), Task: rapid.IntRange(0, 9).Draw(t, "task"), SHA256: name.Draw(t, "sum"),
			Counts: rapid.MapOf(name, rapid.Int64()).Draw(t, "counts")}
	})
	car := SideCar{FormatVersion: FormatVersion, Stage: name.Draw(t, "stage"), File: entry.Draw(t, "file"),
		More: rapid.SliceOfN(entry, 0, 3).Draw(t, "more")}
	if rapid.Bool().Draw(t, "has index") {
		car.Index = entry.Draw(t, "index")
	}
	for _, body := range []string{"", `{}`, `null`, `[1,2]`, `{"tokens":[1,2],"body":{"a":",\"body\":"}}`, `",\"body\":"`} {
		if rapid.Bool().Draw(t, "body "+body) && body != "" {
			car.Body = json.RawMessage(body)
		}
	}
	return car
}

func TestAHeadIsTheSideCarWithoutItsBody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := Compact(drawSideCar(t))
		var byName map[string]json.RawMessage // the same file with its body before all other fields
		if err := json.Unmarshal(raw, &byName); err != nil {
			t.Fatal(err)
		}
		version := []byte(`"format_version":1,`)
		early := bytes.Replace(raw, version, append(version, `"body":[1],`...), 1)
		for _, raw := range [][]byte{raw, Marshal(json.RawMessage(raw)), Compact(byName), early} {
			got, err := ParseSideCarHead(raw)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			want, err := wholeSideCar(raw)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", raw, diff)
			}
		}
	})
}

func TestAHeadThatIsNoSideCarIsRefused(t *testing.T) {
	raw := Compact(SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x"}, Body: json.RawMessage(`[1]`)})
	for _, bad := range [][]byte{nil, []byte("x"), raw[:len(raw)/2], raw[1:], bytes.Replace(raw, []byte(`version":1`), []byte(`version":2`), 1)} {
		if got, err := ParseSideCarHead(bad); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: got %v, %v, want ErrFormat", bad, got, err)
		}
	}
}

// The body is not read: a shard's side-car takes no more time with a million
// records than with none.
func TestTheBodyOfASideCarIsNotParsed(t *testing.T) {
	car := SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x", Counts: Counts{"records": 1}}}
	raw := Compact(car)
	raw = append(raw[:len(raw)-2], `,"body":[1,2,`...)
	got, err := ParseSideCarHead(raw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&car, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzParseSideCarHead(f *testing.F) {
	f.Add([]byte(`{"format_version":1,"body":{"tokens":[1,2]}}`))
	f.Add(Compact(SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x"}, Body: json.RawMessage(`[1]`)}))
	f.Add(Compact(SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x", Counts: Counts{"a": 1, "body": 2}}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := ParseSideCarHead(raw)
		var whole SideCar
		if parseJSON(raw, &whole) != nil {
			return
		}
		if err != nil {
			t.Fatalf("the whole is a side-car, its head is not: %v", err)
		}
		if bytes.Equal(Compact(whole), raw) { // otherwise fields may be repeated after the body
			whole.Body = nil
			if diff := cmp.Diff(&whole, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		}
	})
}

// BenchmarkSideCar parses the side-car of a shard of 100,000 records.
func BenchmarkSideCar(b *testing.B) {
	body := ShardBody{Split: "train", Tokens: make([]uint16, 100_000), Masked: make([]uint16, 100_000)}
	for i := range body.Tokens {
		body.Tokens[i], body.Masked[i] = uint16(i%129), uint16(i%21)
	}
	raw := Compact(SideCar{FormatVersion: FormatVersion, File: FileEntry{Name: "x", Counts: Counts{"records": 100_000}}, Body: Compact(body)})
	for name, parse := range map[string]func([]byte) (*SideCar, error){"whole": wholeSideCar, "head": ParseSideCarHead} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
