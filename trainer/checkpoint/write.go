package checkpoint

import (
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"

	"pretext/trainer"
)

// WriteSafetensors writes float32 tensors, with the metadata that transformers
// requires. The tensors must be in the order of specs. Equal tensors give equal
// bytes. Only one tensor at a time is in memory.
func WriteSafetensors(w io.Writer, specs []trainer.TensorSpec, tensors iter.Seq2[trainer.Tensor, error]) error {
	entries := make([]Entry, len(specs))
	at := int64(0)
	for i, s := range specs {
		shape := make([]int64, len(s.Shape))
		for j, n := range s.Shape {
			shape[j] = int64(n)
		}
		end := at + 4*int64(s.Size())
		entries[i] = Entry{Name: s.Name, DType: F32, Shape: shape, Begin: at, End: end}
		at = end
	}
	head, err := appendHeader(nil, map[string]string{"format": "pt"}, entries)
	if err != nil {
		return fmt.Errorf("write safetensors: %w", err)
	}
	if _, err := w.Write(head); err != nil {
		return err
	}
	return writeTensors(w, specs, tensors)
}

func writeTensors(w io.Writer, specs []trainer.TensorSpec, tensors iter.Seq2[trainer.Tensor, error]) error {
	i := 0
	for t, err := range tensors {
		switch {
		case err != nil:
			return err
		case i == len(specs) || t.Name != specs[i].Name || len(t.Data) != specs[i].Size():
			return fmt.Errorf("write safetensors: tensor %d is %q with %d elements, not what was announced", i, t.Name, len(t.Data))
		}
		if err := writeFloats(w, t.Data); err != nil {
			return err
		}
		i++
	}
	if i != len(specs) {
		return fmt.Errorf("write safetensors: %d tensors for %d announced", i, len(specs))
	}
	return nil
}

func writeFloats(w io.Writer, data []float32) error {
	buf := make([]byte, 0, 1<<16)
	for len(data) > 0 {
		n := min(len(data), cap(buf)/4)
		buf = buf[:0]
		for _, v := range data[:n] {
			buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(v))
		}
		if _, err := w.Write(buf); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}
