package scribunto

import (
	"encoding/json"
	"html"
	"math"
	"strings"
	"sync"
	"unicode/utf8"

	"pretext/extract/wiki/internal/lua"
)

// textLibrary returns mw.text.
func (v *invocation) textLibrary() *lua.Table {
	same := func(m *lua.Machine, args []lua.Value) []lua.Value {
		return []lua.Value{m.String(lua.NewArgs(m, args).String(0))}
	}
	t := lua.NewTable()
	register(t, map[string]lua.Native{
		"trim": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{m.String(trim(m, a.String(0), a.Opt(1, "")))}
		},
		"split": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			t := m.NewTable()
			for k, part := range lua.Split(m, a.String(0), a.String(1), a.Any(2) == true) {
				m.Put(t, float64(k+1), part)
			}
			return []lua.Value{t}
		},
		"gsplit": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			parts := lua.Split(m, a.String(0), a.String(1), a.Any(2) == true)
			return []lua.Value{lua.NewFunction("gsplit", func(*lua.Machine, []lua.Value) []lua.Value {
				if len(parts) == 0 {
					return []lua.Value{nil}
				}
				part := parts[0]
				parts = parts[1:]
				return []lua.Value{part}
			})}
		},
		"encode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			return []lua.Value{m.String(encode(lua.NewArgs(m, args).String(0)))}
		},
		"decode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			s := a.String(0)
			if a.Any(1) == true {
				return []lua.Value{m.String(html.UnescapeString(s))}
			}
			return []lua.Value{m.String(decodeBasic(s))}
		},
		"nowiki":     nowiki,
		"listToText": v.listToText,
		"truncate":   truncate,
		"tag":        tagText,
		"unstrip":    same, "unstripNoWiki": same, "killMarkers": same,
		"jsonEncode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			var b strings.Builder
			encodeJSON(m, &b, lua.NewArgs(m, args).Any(0), 0)
			return []lua.Value{m.String(b.String())}
		},
		"jsonDecode": func(m *lua.Machine, args []lua.Value) []lua.Value {
			a := lua.NewArgs(m, args)
			return []lua.Value{decodeJSON(m, a.String(0), a.Int(1, 0))}
		},
	})
	t.Set("JSON_PRESERVE_KEYS", 1.0)
	t.Set("JSON_TRY_FIXING", 2.0)
	t.Set("JSON_PRETTY", 4.0)
	return t
}

// trim removes the characters of a set, by default white space, from both ends.
func trim(m *lua.Machine, s, set string) string {
	m.Step(len(s) / 64)
	if set == "" {
		return strings.Trim(s, " \t\r\n\f\v")
	}
	is := lua.Set(m, set)
	return strings.TrimFunc(s, is)
}

// Replacers of characters, made when they are needed.
var (
	encoder = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", `"`, "&quot;", "'", "&#039;", "\u00a0", "&nbsp;")
	})
	basicDecoder = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`, "&nbsp;", "\u00a0")
	})
	nowikiReplacer = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer(`"`, "&#34;", "&", "&#38;", "'", "&#39;", "<", "&#60;", "=", "&#61;", ">", "&#62;", "[", "&#91;",
			"]", "&#93;", "{", "&#123;", "|", "&#124;", "}", "&#125;", "://", "&#58;//", "__", "_&#95;")
	})
)

func encode(s string) string { return encoder().Replace(s) }

// decodeBasic decodes numeric entities and the five usual ones.
func decodeBasic(s string) string {
	if !strings.Contains(s, "&#") {
		return basicDecoder().Replace(s)
	}
	var b strings.Builder
	for {
		k := strings.IndexByte(s, '&')
		if k < 0 {
			break
		}
		b.WriteString(s[:k])
		s = s[k:]
		end := strings.IndexByte(s[:min(len(s), 12)], ';')
		if end < 0 {
			b.WriteByte('&')
			s = s[1:]
			continue
		}
		entity := s[:end+1]
		if strings.HasPrefix(entity, "&#") {
			b.WriteString(html.UnescapeString(entity))
		} else {
			b.WriteString(basicDecoder().Replace(entity))
		}
		s = s[end+1:]
	}
	return b.String() + s
}

// nowiki is mw.text.nowiki. It also escapes what has a meaning at the start of a line.
func nowiki(m *lua.Machine, args []lua.Value) []lua.Value {
	lines := strings.Split(nowikiReplacer().Replace(lua.NewArgs(m, args).String(0)), "\n")
	starts := map[byte]string{'#': "&#35;", '*': "&#42;", ':': "&#58;", ';': "&#59;", ' ': "&#32;", '\t': "&#9;"}
	for k, line := range lines {
		if line != "" && starts[line[0]] != "" {
			lines[k] = starts[line[0]] + line[1:]
		}
	}
	return []lua.Value{m.String(strings.Join(lines, "\n"))}
}

// listToText is mw.text.listToText. The last separator is a comma unless the wiki is
// English.
func (v *invocation) listToText(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	and := ", "
	if v.page.Lang == "en" || v.page.Lang == "simple" {
		and = " and "
	}
	t, sep, last := a.Table(0), a.Opt(1, ", "), a.Opt(2, and)
	var b strings.Builder
	n := t.Len()
	for k := 1; k <= n; k++ {
		switch {
		case k == n && n > 1:
			b.WriteString(last)
		case k > 1:
			b.WriteString(sep)
		}
		s := m.ToString(t.Get(float64(k)))
		m.Charge(len(s) + len(sep))
		b.WriteString(s)
	}
	return []lua.Value{m.String(b.String())}
}

// truncate is mw.text.truncate.
func truncate(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	s, limit, mark := a.String(0), a.Int(1, 0), a.Opt(2, "…")
	n := limit
	if n < 0 {
		n = -n
	}
	if utf8.RuneCountInString(s) <= n {
		return []lua.Value{s}
	}
	if a.Any(3) == true {
		n = max(n-utf8.RuneCountInString(mark), 0)
	}
	m.Charge(4 * len(s))
	r := []rune(s)
	if limit < 0 {
		return []lua.Value{m.String(mark + string(r[len(r)-n:]))}
	}
	return []lua.Value{m.String(string(r[:n]) + mark)}
}

// tagText is mw.text.tag.
func tagText(m *lua.Machine, args []lua.Value) []lua.Value {
	a := lua.NewArgs(m, args)
	name, content := "", lua.Value(nil)
	var attributes *lua.Table
	if o, ok := a.Any(0).(*lua.Table); ok {
		name, content = o.Text("name"), o.Get("content")
		attributes, _ = o.Get("attrs").(*lua.Table)
	} else {
		name, content = a.String(0), a.Any(2)
		attributes, _ = a.Any(1).(*lua.Table)
	}
	text, _ := lua.ToText(content)
	if content == nil || content == false {
		element := tag(name, attributes, "")
		return []lua.Value{m.String(strings.TrimSuffix(element, "</"+name+">"))}
	}
	return []lua.Value{m.String(tag(name, attributes, text))}
}

// maxJSON is the maximum nesting of JSON.
const maxJSON = 100

// encodeJSON appends a value as JSON.
func encodeJSON(m *lua.Machine, b *strings.Builder, value lua.Value, depth int) {
	m.Step(1)
	if depth > maxJSON {
		m.Throw("mw.text.jsonEncode: recursion detected")
	}
	switch value := value.(type) {
	case nil:
		b.WriteString("null")
	case bool, string:
		text, _ := json.Marshal(value)
		m.Charge(len(text))
		b.Write(text)
	case float64:
		if math.IsInf(value, 0) || math.IsNaN(value) {
			m.Throw("mw.text.jsonEncode: cannot encode number")
		}
		text, _ := json.Marshal(value)
		b.Write(text)
	case *lua.Table:
		encodeJSONTable(m, b, value, depth)
	default:
		m.Throw("mw.text.jsonEncode: cannot encode type '%s'", lua.TypeOf(value))
	}
}

func encodeJSONTable(m *lua.Machine, b *strings.Builder, t *lua.Table, depth int) {
	n := 0
	for range t.All() {
		n++
	}
	if n == t.Len() {
		b.WriteByte('[')
		for k := range n {
			if k > 0 {
				b.WriteByte(',')
			}
			encodeJSON(m, b, t.Get(float64(k+1)), depth+1)
		}
		b.WriteByte(']')
		return
	}
	b.WriteByte('{')
	first := true
	for k, value := range t.All() {
		if !first {
			b.WriteByte(',')
		}
		first = false
		name, _ := lua.ToText(k)
		text, _ := json.Marshal(name)
		m.Charge(len(text))
		b.Write(text)
		b.WriteByte(':')
		encodeJSON(m, b, value, depth+1)
	}
	b.WriteByte('}')
}

// decodeJSON returns the value of a text in JSON. Arrays begin at 1 unless flags has
// JSON_PRESERVE_KEYS.
func decodeJSON(m *lua.Machine, text string, flags int) lua.Value {
	d := json.NewDecoder(strings.NewReader(text))
	m.Charge(len(text))
	value, err := decodeValue(m, d, flags, 0)
	if err != nil {
		m.Throw("mw.text.jsonDecode: %s", err)
	}
	return value
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
	if flags&1 != 0 {
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
			if flags&1 == 0 {
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
