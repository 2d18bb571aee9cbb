package sharding

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"pretext/records/pretrain"
)

// The body of a shard's side-car is that of encoding/json, whichever fields are set.
func TestBodiesAreThoseOfTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	numbers := func() (n []uint32) {
		if r.IntN(4) == 0 {
			return nil
		}
		n = []uint32{}
		for range r.IntN(5) {
			n = append(n, r.Uint32()>>r.IntN(32))
		}
		return n
	}
	for range 2000 {
		b := ShardBody{RandomSeed: r.Int64() - r.Int64(), Split: "<tr\"ain>,\"tokens\":null,\"masked\":null", Shard: r.IntN(100), Shards: r.IntN(100),
			Tokens: numbers(), Pieces: numbers()}
		for _, n := range numbers() {
			b.Masked = append(b.Masked, uint16(n))
		}
		if r.IntN(2) == 0 {
			b.WithoutPunkt = map[string]int64{"lt": 3, "\u2028": 4}
		}
		if r.IntN(2) == 0 {
			b.Followed = make([]pretrain.Followed, r.IntN(3))
		}
		want, err := json.Marshal(b)
		if got := b.compact(); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("body\n%s, want\n%s: %v", got, want, err)
		}
	}
	if n := reflect.TypeFor[ShardBody]().NumField(); n != 9 {
		t.Errorf("%d fields: compact must write the new one, and this test set it", n)
	}
}

func TestSideCarsAreThoseOfTheLibrary(t *testing.T) {
	for _, body := range []string{"", "null", "{}", `{"blocks":[1,2],"x":"<\u003c"}`} {
		for _, more := range [][]FileEntry{nil, {{Name: "a<b"}}} {
			car := SideCar{FormatVersion: 2, Stage: "x", Task: 7, More: more, Body: json.RawMessage(body)}
			if got, want := car.Compact(), Compact(car); !bytes.Equal(got, want) {
				t.Errorf("side-car %s, want %s", got, want)
			}
		}
	}
}
