package parquet

import (
	"fmt"
	"strings"
)

// footerMeta holds the parts of a file's metadata that this package uses, for one
// column.
type footerMeta struct {
	optional bool
	rows     int64
	chunks   []chunk
}

// Values of Type and FieldRepetitionType in parquet.thrift.
const (
	typeByteArray      = 6
	repetitionRequired = 0
	repetitionOptional = 1
)

// A schemaElement is one entry of the schema. The entries form a tree, stored in
// depth-first order.
type schemaElement struct {
	name       string
	kind       int64 // physical type; -1 for a group of columns
	repetition int64
	children   int64
}

// parseFooter parses the footer, a FileMetaData structure, and returns its metadata for
// the given column.
func parseFooter(footer []byte, column string) (*footerMeta, error) {
	t := &thriftReader{b: footer}
	meta := &footerMeta{rows: -1}
	var schema []schemaElement
	var found error
	haveSchema := false
	t.structure(0, func(id int16, kind byte) bool {
		switch {
		case id == 2 && kind == thriftList && !haveSchema:
			haveSchema = true
			schema = readSchema(t)
			meta.optional, found = findColumn(schema, column)
			return true
		case id == 3 && kind == thriftI64:
			meta.rows = t.int()
			return true
		case id == 4 && kind == thriftList && haveSchema && found == nil:
			meta.chunks = readGroups(t, column)
			return true
		}
		return false
	})
	switch {
	case t.err != nil:
		return nil, t.err
	case !haveSchema:
		return nil, damagef("no schema")
	case found != nil:
		return nil, found
	}
	for i := range meta.chunks {
		if err := meta.chunks[i].codec.check(); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

func readSchema(t *thriftReader) (schema []schemaElement) {
	n, kind := t.list()
	for ; n > 0 && t.err == nil; n-- {
		if kind != thriftStruct {
			t.fail("the schema is no list of structs")
			return nil
		}
		e := schemaElement{kind: -1}
		t.structure(1, func(id int16, kind byte) bool {
			switch {
			case id == 1 && kind == thriftI32:
				e.kind = t.int()
			case id == 3 && kind == thriftI32:
				e.repetition = t.int()
			case id == 4 && kind == thriftBinary:
				e.name = string(t.binary())
			case id == 5 && kind == thriftI32:
				e.children = t.int()
			default:
				return false
			}
			return true
		})
		schema = append(schema, e)
	}
	return schema
}

// findColumn finds the top-level column with the given name. It returns an error if the
// column does not hold strings. optional reports whether the column may contain nulls.
func findColumn(schema []schemaElement, column string) (optional bool, err error) {
	var names []string
	for i := 1; i < len(schema); {
		e := schema[i]
		if e.name == column {
			switch {
			case e.kind != typeByteArray || e.children > 0:
				return false, columnError("column %q does not hold strings", column)
			case e.repetition != repetitionRequired && e.repetition != repetitionOptional:
				return false, columnError("column %q holds lists", column)
			}
			return e.repetition == repetitionOptional, nil
		}
		if len(names) < 20 {
			names = append(names, fmt.Sprintf("%.60q", e.name))
		}
		// Skip the children and their descendants.
		for open := int64(1); open > 0 && i < len(schema); i++ {
			open += max(0, min(schema[i].children, int64(len(schema)))) - 1
		}
	}
	return false, columnError("no column %q, it has %s", column, strings.Join(names, ", "))
}

func columnError(format string, args ...any) error {
	return &UnsupportedError{What: fmt.Sprintf(format, args...), Column: true}
}

// readGroups parses the row groups and returns the chunk of the column in each group.
func readGroups(t *thriftReader, column string) (chunks []chunk) {
	n, _ := t.list()
	for ; n > 0 && t.err == nil; n-- {
		var c chunk
		found := false
		t.structure(1, func(id int16, kind byte) bool {
			switch {
			case id == 1 && kind == thriftList:
				columns, _ := t.list()
				for ; columns > 0 && t.err == nil; columns-- {
					if one, name := readChunk(t); name == column && !found {
						one.rows, c, found = c.rows, one, true
					}
				}
			case id == 3 && kind == thriftI64:
				c.rows = t.int()
			default:
				return false
			}
			return true
		})
		if !found {
			t.fail("a row group without the column")
		}
		chunks = append(chunks, c)
	}
	return chunks
}

// readPath parses the path of a column in the schema. It returns the path's elements
// joined with dots.
func readPath(t *thriftReader) string {
	n, of := t.list()
	if n > 0 && of != thriftBinary {
		t.fail("a path that is no list of strings")
	}
	var path []string
	for ; n > 0 && t.err == nil; n-- {
		path = append(path, string(t.binary()))
	}
	return strings.Join(path, ".")
}

// readChunk parses a ColumnChunk structure. name is the schema path of its column.
func readChunk(t *thriftReader) (c chunk, name string) {
	dictionary := int64(0)
	t.structure(2, func(id int16, kind byte) bool {
		if id == 1 && kind == thriftBinary && len(t.binary()) > 0 {
			t.fail("a column in another file")
		}
		if id != 3 || kind != thriftStruct {
			return id == 1 && kind == thriftBinary
		}
		t.structure(3, func(id int16, kind byte) bool {
			switch {
			case id == 3 && kind == thriftList:
				name = readPath(t)
			case id == 4 && kind == thriftI32:
				c.codec = codec(t.int())
			case id == 5 && kind == thriftI64:
				c.values = t.int()
			case id == 7 && kind == thriftI64:
				c.bytes = t.int()
			case id == 9 && kind == thriftI64:
				c.offset = t.int()
			case id == 11 && kind == thriftI64:
				dictionary = t.int()
			default:
				return false
			}
			return true
		})
		return true
	})
	if dictionary > 0 && dictionary < c.offset { // the dictionary page precedes the data pages
		c.offset = dictionary
	}
	return c, name
}
