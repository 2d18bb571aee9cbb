package scribunto

import (
	"encoding/json"
	"io"
	"math"
	"strings"

	"pretext/extract/wiki/internal/lua"
)

// Flags of mw.text.jsonEncode and mw.text.jsonDecode.
const (
	jsonPreserveKeys = 1 << iota // the index of an array's first item is 0
	jsonTryFixing                // commas before closing brackets are skipped
	jsonPretty                   // on several lines
)

// maxJSON is the maximum nesting of JSON.
const maxJSON = 100

// A jsonEncoder writes values as JSON.
type jsonEncoder struct {
	strings.Builder
	m     *lua.Machine
	flags int
}

// value writes a value that is inside depth tables.
func (e *jsonEncoder) value(value lua.Value, depth int) {
	e.m.Step(1)
	if depth > maxJSON {
		e.m.Throw("mw.text.jsonEncode: Cannot use recursive tables")
	}
	switch value := value.(type) {
	case nil:
		e.WriteString("null")
	case bool, string:
		e.scalar(value)
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			e.m.Throw("mw.text.jsonEncode: Cannot encode non-finite numbers")
		}
		e.scalar(value)
	case *lua.Table:
		e.table(value, depth)
	default:
		e.m.Throw("mw.text.jsonEncode: Cannot encode type '%s'", lua.TypeOf(value))
	}
}

func (e *jsonEncoder) scalar(value any) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.Encode(value)
	text := strings.TrimSuffix(b.String(), "\n")
	e.m.Charge(len(text))
	e.WriteString(text)
}

// table writes a table as an array if its keys are 1, 2, 3 … and the flags let it, or
// 0, 1, 2 …; otherwise as an object.
func (e *jsonEncoder) table(t *lua.Table, depth int) {
	n := 0
	for k := range t.All() {
		e.name(k)
		n++
	}
	first, isArray := 1, n == t.Len() && e.flags&jsonPreserveKeys == 0
	if !isArray {
		first = 0
		for first < n && t.Get(float64(first)) != nil {
			first++
		}
		isArray = first == n
		e.m.Step(first)
		first = 0
	}
	written := 0
	begin := func() {
		if written > 0 {
			e.WriteByte(',')
		}
		written++
		e.line(depth + 1)
	}
	if isArray {
		e.WriteByte('[')
		for k := range n {
			begin()
			e.value(t.Get(float64(k+first)), depth+1)
		}
	} else {
		e.WriteByte('{')
		for k, value := range t.All() {
			begin()
			e.scalar(e.name(k))
			e.WriteByte(':')
			if e.flags&jsonPretty != 0 {
				e.WriteByte(' ')
			}
			e.value(value, depth+1)
		}
	}
	if written > 0 {
		e.line(depth)
	}
	if isArray {
		e.WriteByte(']')
	} else {
		e.WriteByte('}')
	}
}

// name returns a key of a table as the name of a field.
func (e *jsonEncoder) name(key lua.Value) string {
	switch k := key.(type) {
	case string:
		return k
	case float64:
		if math.IsInf(k, 0) {
			e.m.Throw("mw.text.jsonEncode: Cannot use 'inf' as a table key")
		}
		text, _ := lua.ToText(k)
		return text
	}
	e.m.Throw("mw.text.jsonEncode: Cannot use type '%s' as a table key", lua.TypeOf(key))
	return ""
}

// line begins a line that is indented, if lines are wanted.
func (e *jsonEncoder) line(depth int) {
	if e.flags&jsonPretty != 0 {
		e.WriteString("\n" + strings.Repeat("    ", depth))
	}
}

// decodeJSON returns the value of a text in JSON. Arrays begin at 1 unless flags has
// JSON_PRESERVE_KEYS.
func decodeJSON(m *lua.Machine, text string, flags int) lua.Value {
	m.Charge(2 * len(text))
	if flags&jsonTryFixing != 0 {
		text = withoutLastCommas(text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	value, err := decodeValue(m, d, flags, 0)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return value
		}
	}
	m.Throw("mw.text.jsonDecode: Syntax error")
	return nil
}

// withoutLastCommas removes the commas before closing brackets.
func withoutLastCommas(text string) string {
	var b strings.Builder
	quoted := false
	for k := 0; k < len(text); k++ {
		switch c := text[k]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted && k+1 < len(text):
			b.WriteByte(c)
			k++
		case c == ',' && !quoted:
			rest := strings.TrimLeft(text[k+1:], " \t\r\n")
			if strings.HasPrefix(rest, "]") || strings.HasPrefix(rest, "}") {
				continue
			}
		}
		b.WriteByte(text[k])
	}
	return b.String()
}

func decodeValue(m *lua.Machine, d *json.Decoder, flags, depth int) (lua.Value, error) {
	m.Step(1)
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return lua.Value(token), nil
	}
	if depth > maxJSON {
		m.Throw("mw.text.jsonDecode: too deep")
	}
	t := m.NewTable()
	next := 1
	if flags&jsonPreserveKeys != 0 {
		next = 0
	}
	for d.More() {
		var name lua.Value = float64(next)
		if delim == '{' {
			token, err := d.Token()
			if err != nil {
				return nil, err
			}
			text, _ := token.(string)
			name = text
			if flags&jsonPreserveKeys == 0 {
				name = key(text)
			}
		}
		value, err := decodeValue(m, d, flags, depth+1)
		if err != nil {
			return nil, err
		}
		m.Put(t, name, value)
		next++
	}
	_, err = d.Token()
	return t, err
}
