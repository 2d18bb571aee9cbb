package sharding

import (
	"encoding/json"
	"strings"
)

// FlattenOptions turns nested JSON options, such as a [Recipe] holds, into dotted
// names and their values in compact JSON. What is no JSON has no options.
func FlattenOptions(raw json.RawMessage) map[string]string {
	out := map[string]string{}
	var v any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber() // 64-bit seeds stay what they are
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
