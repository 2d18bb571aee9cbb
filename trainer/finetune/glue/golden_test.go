package glue_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"pretext/internal/dev/realdata"
	"pretext/records/tfrecord"
	"pretext/tokenize"
	"pretext/trainer"
	"pretext/trainer/finetune/glue"
)

// fields calls f for the fields of a protocol buffer: with the bytes of one that has a
// length, or with a number.
func fields(t *testing.T, b []byte, f func(number int, data []byte, value uint64)) {
	t.Helper()
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		v, m := binary.Uvarint(b[max(0, n):])
		if n <= 0 || m <= 0 || tag&7 != 0 && tag&7 != 2 {
			t.Fatal("the record is no tf.train.Example")
		}
		b = b[n+m:]
		if tag&7 == 0 {
			f(int(tag>>3), nil, v)
			continue
		}
		f(int(tag>>3), b[:v], 0)
		b = b[v:]
	}
}

// features reads the integers of a tf.train.Example by name.
func features(t *testing.T, record []byte) map[string][]int32 {
	out := map[string][]int32{}
	fields(t, record, func(_ int, all []byte, _ uint64) {
		fields(t, all, func(_ int, entry []byte, _ uint64) {
			name := ""
			fields(t, entry, func(number int, data []byte, _ uint64) {
				if number == 1 {
					name = string(data)
					return
				}
				fields(t, data, func(_ int, list []byte, _ uint64) {
					fields(t, list, func(_ int, packed []byte, one uint64) {
						if packed == nil {
							out[name] = append(out[name], int32(one))
						}
						for len(packed) > 0 {
							v, n := binary.Uvarint(packed)
							packed = packed[n:]
							out[name] = append(out[name], int32(v))
						}
					})
				})
			})
		})
	})
	return out
}

// The records were written by TensorFlow through run_classifier.py, padded to 128
// tokens.
func TestTheRecordsOfMRPCAreThoseOfTheReference(t *testing.T) {
	task, err := glue.ByName("mrpc")
	if err != nil {
		t.Fatal(err)
	}
	_, rows, err := task.Read("dev.tsv", realdata.Read(t, "glue/MRPC/dev.tsv"), glue.Dev)
	if err != nil {
		t.Fatal(err)
	}
	v, err := tokenize.ReadVocab("vocab.txt", realdata.Read(t, "vocab/bert-base-uncased-vocab.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tok, err := tokenize.New(v, tokenize.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	x, err := glue.NewExamples(task, rows, tok.NewEncoder(), 128)
	if err != nil {
		t.Fatal(err)
	}
	r := tfrecord.NewReader(bytes.NewReader(realdata.Read(t, "tfrecord/bert-mrpc/eval.tf_record")), tfrecord.ReaderOptions{})
	n := 0
	for ; ; n++ {
		record, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if n == x.Len() {
			t.Fatal("more records than rows")
		}
		want := features(t, record)
		var b trainer.Batch
		x.Append(&b, n, 0)
		length := len(b.IDs)
		pad := make([]int32, 128-length)
		ones := slices.Repeat([]int32{1}, length)
		if !slices.Equal(append(b.IDs, pad...), want["input_ids"]) || !slices.Equal(append(b.Segments, pad...), want["segment_ids"]) ||
			!slices.Equal(append(ones, pad...), want["input_mask"]) || !slices.Equal(b.Labels, want["label_ids"]) {
			t.Fatalf("row %d: got %v, %v, %v, want %v", n, b.IDs, b.Segments, b.Labels, want)
		}
	}
	if n != x.Len() || n != 408 {
		t.Errorf("%d records, %d rows, want 408", n, x.Len())
	}
}
