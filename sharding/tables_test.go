package sharding

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pretext/records/pretrain"
)

// shardCar returns the side-car of a shard with a body.
func shardCar(b *ShardBody) []byte {
	return SideCar{FormatVersion: FormatVersion, Stage: StageExamples, Fingerprint: "f", Task: 3,
		File: FileEntry{Name: "train-00000-of-00001.tfrecord", Bytes: 9, SHA256: "s", Counts: Counts{Records.Key: 2}}, Body: b.compact()}.Compact()
}

var writtenBodies = []*ShardBody{
	{Split: "train", Shards: 1, Tokens: []uint32{128, 0, math.MaxUint32}, Masked: []uint16{19, 0, math.MaxUint16}},
	{RandomSeed: -4, Split: "eval", Tokens: []uint32{}, Masked: []uint16{}},
	{Split: "train", Tokens: []uint32{7}},
	{Split: "train", Tokens: []uint32{10, 11}, Pieces: []uint32{1, 20}},
	{Split: `a,"tokens":[1]`, Tokens: []uint32{5}, Masked: []uint16{5}, WithoutPunkt: map[string]int64{"tokens": 1, "ja": 2},
		Followed: []pretrain.Followed{{}}},
}

// sameAsJSON compares both parsers with encoding/json, and returns whether the tables of raw
// were cut out of it.
func sameAsJSON(t *testing.T, raw []byte) bool {
	t.Helper()
	var got, want SideCar
	gotErr, wantErr := parseSideCar(raw, &got), parseJSON(raw, &want)
	if (gotErr == nil) != (wantErr == nil) || wantErr == nil && !cmp.Equal(got, want) {
		t.Fatalf("side-car %.300q: %v\n%s", raw, gotErr, cmp.Diff(got, want))
	}
	var body, plain ShardBody
	gotErr, wantErr = body.parse(want.Body), json.Unmarshal(want.Body, &plain)
	if (gotErr == nil) != (wantErr == nil) || wantErr == nil && !cmp.Equal(body, plain) {
		t.Fatalf("body %.300q: %v\n%s", want.Body, gotErr, cmp.Diff(body, plain))
	}
	_, _, _, cut := cutTables(raw)
	return cut
}

func TestTablesAreParsedAsByJSON(t *testing.T) {
	for _, b := range writtenBodies {
		raw := shardCar(b)
		if !sameAsJSON(t, raw) {
			t.Errorf("the tables of %s were not cut out", raw)
		}
		for i := range raw { // every truncation, and every byte damaged
			sameAsJSON(t, raw[:i])
			for _, c := range []byte{'0', '9', ',', ']', ' ', '"', '}', '-'} {
				damaged := bytes.Clone(raw)
				damaged[i] = c
				sameAsJSON(t, damaged)
			}
		}
	}
}

func TestOtherTablesAreLeftToJSON(t *testing.T) {
	written := string(shardCar(writtenBodies[0]))
	for _, table := range []string{"[ 1]", "[01]", "[1,]", "[-1]", "[1.0]", "[1e1]", "[4294967296]", "[99999999999999999999]", "[+1]", "[[1]]", `["1"]`, "null", "{}"} {
		raw := strings.Replace(written, "[128,0,4294967295]", table, 1)
		if raw == written || sameAsJSON(t, []byte(raw)) {
			t.Errorf("tokens %s were cut out", table)
		}
	}
	// Layouts that this program does not write, with tables that it would cut out.
	for _, change := range [][2]string{
		{`"body":{`, `"more":[],"body":{`},
		{`"body":{`, `"file":{"name":"x"},"body":{`},
		{`,"body":{`, ` ,"body":{`},
		{`"body":{`, `"other":{`},
		{`"body":`, `"body":{},"Body":`},
		{`"split":`, `"Tokens":[9],"split":`},
		{`]}`, `],"tokens":[1]}`},
		{`]}`, `],"Masked":[1]}`},
	} {
		raw := strings.Replace(written, change[0], change[1], 1)
		if raw == written || !sameAsJSON(t, []byte(raw)) {
			t.Errorf("change %q: not made, or no tables", change)
		}
	}
}

func FuzzTables(f *testing.F) {
	for _, b := range writtenBodies {
		f.Add(shardCar(b))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { sameAsJSON(t, raw) })
}

func BenchmarkReadShardBody(b *testing.B) {
	body := &ShardBody{Split: "train", Shards: 1, Tokens: make([]uint32, 100_000), Masked: make([]uint16, 100_000)}
	for i := range body.Tokens {
		body.Tokens[i], body.Masked[i] = uint32(28+i%101), uint16(4+i%16)
	}
	raw := shardCar(body)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		var car SideCar
		if err := parseSideCar(raw, &car); err != nil {
			b.Fatal(err)
		}
		if err := new(ShardBody).parse(car.Body); err != nil {
			b.Fatal(err)
		}
	}
}
