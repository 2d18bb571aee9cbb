package text

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
)

// Limits on the part of a file that [SampleFields] reads.
const (
	sampleLines = 20
	sampleBytes = 1 << 20
)

// A Sample describes the first lines of a JSON lines file.
type Sample struct {
	Objects int      // lines that are JSON objects
	Fields  []string // names of the objects' top-level fields, in order of appearance
	Longest string   // name of the field with the most text; "" if none has text
	Array   bool     // the file is one JSON array
}

// SampleFields describes the first lines of r, a JSON lines file that may be
// compressed. It ignores corrupt data, because a [Reader] will report it later.
func SampleFields(name string, r io.Reader) (s Sample, err error) {
	plain, err := Decompress(name, r)
	if err != nil {
		return s, err
	}
	defer plain.Close()
	lines := bufio.NewScanner(io.LimitReader(plain, sampleBytes))
	lines.Buffer(nil, sampleBytes)
	sizes := map[string]int{}
	for n := 0; n < sampleLines && lines.Scan(); n++ {
		line := bytes.TrimSpace(bytes.TrimPrefix(lines.Bytes(), []byte("\xef\xbb\xbf")))
		s.Array = s.Array || n == 0 && bytes.HasPrefix(line, []byte("["))
		s.object(line, sizes)
	}
	for _, f := range s.Fields {
		if sizes[f] > sizes[s.Longest] {
			s.Longest = f
		}
	}
	return s, nil
}

// object adds the fields of a line, if the line is a JSON object. sizes counts
// the bytes of text in each field.
func (s *Sample) object(line []byte, sizes map[string]int) {
	d := json.NewDecoder(bytes.NewReader(line))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return
	}
	s.Objects++
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return
		}
		var value any
		if d.Decode(&value) != nil {
			return
		}
		field, _ := key.(string)
		if !slices.Contains(s.Fields, field) {
			s.Fields = append(s.Fields, field)
		}
		if text, ok := value.(string); ok {
			sizes[field] += len(text)
		}
	}
}
