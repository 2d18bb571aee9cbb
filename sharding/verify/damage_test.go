package verify_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pretext/internal/dev/torture"
	"pretext/sharding"
)

// variants is how many changes of a file each test of damage tries: some in a plain
// run, 700 in make faults.
func variants(t *testing.T) int { return torture.Times(t, "PRETEXT_DAMAGE", 30, 20_000) }

// variantsOf returns the number of ways to damage a file. The files for AutoTokenizer are in
// every folder, and nothing but their hashes is checked.
func variantsOf(t *testing.T, name string) int {
	if slices.Contains([]string{sharding.TokenizerName, sharding.TokenizerConfigName, sharding.SpecialTokensName}, name) {
		return max(5, variants(t)/40)
	}
	return variants(t)
}

// A damage is what became of a file.
type damage struct {
	what    string
	data    []byte
	missing bool
	at      int // the first byte that differs, -1 where there is no place to speak of
}

// damages yields about so many damages of a file, each of them once, and less
// where a file has not so many: the whole file gone or another, its end cut off
// at evenly spaced bytes or at every one, and by chance bits, ranges and, of
// JSON, values.
func damages(r *rand.Rand, name string, whole []byte, n int) iter.Seq[damage] {
	return func(yield func(damage) bool) {
		noise := make([]byte, len(whole))
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		for _, d := range []damage{
			{what: "missing", missing: true, at: -1}, {what: "empty", at: -1}, {what: "noise", data: noise, at: -1},
			{what: "zeros", data: make([]byte, len(whole)), at: -1}, {what: "another file", data: []byte("{}\n"), at: -1},
			{what: "twice", data: slices.Concat(whole, whole), at: len(whole)},
		} {
			if !yield(d) {
				return
			}
		}
		cuts := min(len(whole), n/3)
		for i := range cuts {
			at := i * len(whole) / cuts
			if !yield(damage{what: fmt.Sprintf("cut to %d bytes", at), data: whole[:at:at], at: at}) {
				return
			}
		}
		for range n - cuts {
			d := someDamage(r, whole)
			if strings.HasSuffix(name, ".json") && r.IntN(2) == 0 {
				d = editJSON(r, whole)
			}
			if bytes.Equal(d.data, whole) {
				continue
			}
			if d.at >= 0 {
				d.at = firstDifference(whole, d.data)
			}
			if !yield(d) {
				return
			}
		}
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// someDamage changes a bit or a range of bytes.
func someDamage(r *rand.Rand, whole []byte) damage {
	from := r.IntN(len(whole))
	to := min(len(whole), from+1+r.IntN(1<<r.IntN(14)))
	piece := whole[from:to]
	where := fmt.Sprintf("bytes %d to %d", from, to)
	switch r.IntN(10) {
	case 0:
		return damage{what: where + " removed", data: slices.Concat(whole[:from], whole[to:])}
	case 1:
		return damage{what: where + " twice", data: slices.Concat(whole[:to], piece, whole[to:])}
	case 2:
		return damage{what: where + " zeroed", data: slices.Concat(whole[:from], make([]byte, len(piece)), whole[to:])}
	case 3:
		other := r.IntN(len(whole) - len(piece) + 1)
		d := bytes.Clone(whole)
		copy(d[from:], whole[other:other+len(piece)])
		return damage{what: fmt.Sprintf("%s replaced by those from %d", where, other), data: d}
	case 4:
		return damage{what: "longer", data: slices.Concat(whole, piece)}
	case 5:
		d := bytes.Clone(whole)
		d[from] = byte(r.Uint32())
		return damage{what: fmt.Sprintf("byte %d changed", from), data: d}
	}
	d := bytes.Clone(whole)
	d[from] ^= 1 << r.IntN(8)
	return damage{what: fmt.Sprintf("bit of byte %d flipped", from), data: d}
}

// editJSON changes one value somewhere in a JSON file, as a person with an
// editor does: the file is sound JSON after it.
func editJSON(r *rand.Rand, whole []byte) damage {
	d := json.NewDecoder(bytes.NewReader(whole))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(err)
	}
	what := "nothing"
	values := 0
	walkJSON(v, "", func(string, any) (any, bool) { values++; return nil, false })
	chosen := r.IntN(values)
	v = walkJSON(v, "", func(path string, old any) (any, bool) {
		if chosen--; chosen >= 0 {
			return nil, false
		}
		chosen = values
		now := editValue(r, old)
		what = fmt.Sprintf("%s made %.60v of %.60v", path, now, old)
		return now, true
	})
	if bytes.Contains(whole, []byte("\n ")) {
		return damage{what: what, data: sharding.Marshal(v), at: -1}
	}
	return damage{what: what, data: sharding.Compact(v), at: -1}
}

// walkJSON calls edit for a value and all that is in it, and puts in what it
// returns.
func walkJSON(v any, path string, edit func(path string, v any) (any, bool)) any {
	if now, ok := edit(path, v); ok {
		return now
	}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = walkJSON(v[k], path+"."+k, edit)
		}
	case []any:
		for i := range v {
			v[i] = walkJSON(v[i], fmt.Sprintf("%s[%d]", path, i), edit)
		}
	}
	return v
}

func editValue(r *rand.Rand, old any) any {
	switch old := old.(type) {
	case json.Number:
		if i, err := old.Int64(); err == nil {
			return i + []int64{1, -1, 1 << 40}[r.IntN(3)]
		}
		return 0.123
	case string:
		if old == "" {
			return "x"
		}
		b := []byte(old)
		b[r.IntN(len(b))] = "0123456789abcdef"[r.IntN(16)]
		return string(b)
	case bool:
		return !old
	case []any:
		if len(old) == 0 {
			return []any{1}
		}
		if i := r.IntN(len(old)); r.IntN(2) == 0 {
			return slices.Delete(slices.Clone(old), i, i+1)
		}
		return append(slices.Clone(old), old[r.IntN(len(old))])
	case map[string]any:
		now := map[string]any{}
		for k, v := range old {
			now[k] = v
		}
		if names := slices.Sorted(maps.Keys(old)); len(names) > 0 && r.IntN(2) == 0 {
			delete(now, names[r.IntN(len(names))])
		} else {
			now["more"] = 1
		}
		return now
	}
	return "was null"
}
