package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// parseHeader parses the JSON header token by token, because json.Unmarshal would
// accept duplicate keys and ignore the case of keys.
func (s *Safetensors) parseHeader(b []byte) error {
	if len(b) == 0 || b[0] != '{' {
		return errors.New("not a JSON object")
	}
	if !utf8.Valid(b) {
		return errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err := object(d, func(key string) error {
		if key == "__metadata__" {
			s.Metadata = map[string]string{}
			return object(d, func(k string) (err error) {
				s.Metadata[k], err = token[string](d)
				return err
			})
		}
		e, err := parseEntry(d, key)
		if err != nil {
			return fmt.Errorf("tensor %q: %w", key, err)
		}
		s.Entries = append(s.Entries, e)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("text after the JSON object")
	}
	return nil
}

func parseEntry(d *json.Decoder, name string) (Entry, error) {
	e := Entry{Name: name, Begin: -1}
	err := object(d, func(key string) (err error) {
		switch key {
		case "dtype":
			var t string
			t, err = token[string](d)
			e.DType = DType(t)
		case "shape":
			e.Shape, err = integers(d)
		case "data_offsets":
			var at []int64
			if at, err = integers(d); err == nil && len(at) != 2 {
				err = fmt.Errorf("%d data offsets", len(at))
			}
			if err == nil {
				e.Begin, e.End = at[0], at[1]
			}
		default:
			err = fmt.Errorf("unknown key %q", key)
		}
		return err
	})
	if err != nil {
		return e, err
	}
	return e, e.check()
}

// check returns an error unless the element type is known and the data has
// exactly the size that the shape needs.
func (e Entry) check() error {
	size := e.DType.Size()
	if size == 0 {
		return fmt.Errorf("element type %q: unknown", e.DType)
	}
	if e.Shape == nil || e.Begin < 0 || e.End < e.Begin {
		return errors.New("shape or data offsets missing or wrong")
	}
	for _, n := range e.Shape {
		if n > 0 && size > math.MaxInt64/n {
			return errors.New("shape too large")
		}
		size *= n
	}
	if size != e.End-e.Begin {
		return fmt.Errorf("shape %v needs %d bytes, data has %d", e.Shape, size, e.End-e.Begin)
	}
	return nil
}

// object parses a JSON object. After each key it calls value, which parses the
// value of the key. A duplicate key is an error.
func object(d *json.Decoder, value func(key string) error) error {
	if err := delim(d, '{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := token[string](d)
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %q appears twice", key)
		}
		seen[key] = true
		if err := value(key); err != nil {
			return err
		}
	}
	return delim(d, '}')
}

// integers parses an array of integers. A negative number is an error.
func integers(d *json.Decoder) ([]int64, error) {
	if err := delim(d, '['); err != nil {
		return nil, err
	}
	v := []int64{}
	for d.More() {
		n, err := token[json.Number](d)
		if err != nil {
			return nil, err
		}
		x, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil || x < 0 {
			return nil, fmt.Errorf("number %s: must be an integer and not negative", n)
		}
		v = append(v, x)
	}
	return v, delim(d, ']')
}

func delim(d *json.Decoder, want json.Delim) error {
	got, err := token[json.Delim](d)
	if err == nil && got != want {
		err = fmt.Errorf("found %v, expected %v", got, want)
	}
	return err
}

func token[T any](d *json.Decoder) (T, error) {
	var zero T
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return zero, err
	}
	v, ok := t.(T)
	if !ok {
		return zero, fmt.Errorf("found %v, expected a %T", t, zero)
	}
	return v, nil
}

// appendHeader appends the start of a safetensors file to dst: the length of
// the header, then the JSON header for metadata and entries, padded with blanks
// to a multiple of eight bytes. Keys have a fixed order, so equal input gives
// equal bytes.
func appendHeader(dst []byte, metadata map[string]string, entries []Entry) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	if metadata != nil {
		m, err := json.Marshal(metadata) // sorts the keys
		if err != nil {
			return nil, err
		}
		b.WriteString(`"__metadata__":`)
		b.Write(m)
	}
	seen := map[string]bool{"__metadata__": true}
	for _, e := range entries {
		if seen[e.Name] {
			return nil, fmt.Errorf("tensor name %q: reserved or given twice", e.Name)
		}
		seen[e.Name] = true
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		if err := writeEntry(&b, e); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	for b.Len()%8 != 0 {
		b.WriteByte(' ')
	}
	if b.Len() > maxHeader {
		return nil, fmt.Errorf("header of %d bytes: too large", b.Len())
	}
	dst = binary.LittleEndian.AppendUint64(dst, uint64(b.Len()))
	return append(dst, b.Bytes()...), nil
}

func writeEntry(b *bytes.Buffer, e Entry) error {
	if !utf8.ValidString(e.Name) {
		return fmt.Errorf("tensor name %q: not UTF-8", e.Name)
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("tensor %q: %w", e.Name, err)
	}
	v, err := json.Marshal(struct {
		DType   DType    `json:"dtype"`
		Shape   []int64  `json:"shape"`
		Offsets [2]int64 `json:"data_offsets"`
	}{e.DType, slices.Clone(e.Shape), [2]int64{e.Begin, e.End}})
	if err != nil {
		return err
	}
	name, err := json.Marshal(e.Name)
	if err != nil {
		return err
	}
	b.Write(name)
	b.WriteByte(':')
	b.Write(v)
	return nil
}
