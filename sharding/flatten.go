package sharding

import (
	"encoding/json"
	"strings"
)

// FlattenOptions converts the nested JSON options of a [Recipe] to a map from
// dotted names ("split.seed") to values in compact JSON. For invalid JSON the
// map is empty.
func FlattenOptions(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var v any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber() // keeps 64-bit seeds exact
	if decoder.Decode(&v) != nil {
		return out
	}
	var walk func(name string, v any)
	walk = func(name string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				panic("BUG: JSON cannot be marshalled: " + err.Error())
			}
			out[name] = string(b)
			return
		}
		for k, v := range m {
			walk(strings.TrimPrefix(name+"."+k, "."), v)
		}
	}
	walk("", v)
	return out
}
