package mds

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"pretext/records/columns"
)

type memory struct{ bytes.Buffer }

func (*memory) Close() error { return nil }

// The head of a file as MosaicML's streaming reads it: the number of rows, the offset of
// each row and of the end, and the configuration.
func TestTheHeadOfAFileHasTheOffsetsOfItsRows(t *testing.T) {
	for _, length := range []int{3, 0} { // 0: lists
		p := columns.Part{Stem: "train", Rows: 4, Schema: []columns.Column{{Name: "input_ids", Type: columns.Int32, Len: length}}, Compression: noCompression}
		var out memory
		w, err := Format{}.NewWriter(p, func(string) (io.WriteCloser, error) { return &out, nil })
		if err != nil {
			t.Fatal(err)
		}
		for i := range int32(4) {
			if err := w.Write([]columns.Value{{Ints: []int32{1000 + i, 7, 8}}}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file := out.Bytes()
		word := func(at int) int { return int(binary.LittleEndian.Uint32(file[at:])) }
		if word(0) != 4 || word(4+4*4) != len(file) {
			t.Fatalf("length %d: %d rows that end at byte %d of %d", length, word(0), word(4+4*4), len(file))
		}
		if head := file[4+4*5 : word(4)]; head[0] != '{' || head[len(head)-1] != '}' {
			t.Errorf("length %d: the configuration is %s", length, head)
		}
		for i := range 4 {
			row := file[word(4+4*i):word(8+4*i)]
			if id := binary.LittleEndian.AppendUint32(nil, uint32(1000+i)); !bytes.Contains(row, id) {
				t.Errorf("length %d: row %d is % x", length, i, row)
			}
		}
	}
}
