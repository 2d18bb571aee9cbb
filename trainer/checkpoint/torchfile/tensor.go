package torchfile

import (
	"errors"
	"fmt"
	"math"
)

// A storageKind is a class of storage: the type of its elements.
type storageKind struct {
	dtype string // as safetensors spells it
	size  int64  // bytes of an element
}

// storageKinds are the supported storage classes of torch, by name. Quantized
// and complex ones are not supported.
var storageKinds = map[string]storageKind{
	"DoubleStorage": {"F64", 8}, "FloatStorage": {"F32", 4}, "HalfStorage": {"F16", 2}, "BFloat16Storage": {"BF16", 2},
	"LongStorage": {"I64", 8}, "IntStorage": {"I32", 4}, "ShortStorage": {"I16", 2}, "CharStorage": {"I8", 1},
	"ByteStorage": {"U8", 1}, "BoolStorage": {"BOOL", 1},
}

// A storage is an array of elements in the archive, under data/key.
type storage struct {
	kind     storageKind
	key      string
	elements int64
}

// maxDims limits the number of dimensions; models have at most four.
const maxDims = 16

// check returns an error unless every element is within the storage. It also
// rejects a tensor with more elements than its storage: a view that repeats
// elements (torch's expand) could have any size.
func (t *Tensor) check() error {
	if len(t.Shape) != len(t.Stride) || len(t.Shape) > maxDims {
		return fmt.Errorf("%d dimensions and %d strides", len(t.Shape), len(t.Stride))
	}
	s := t.storage
	if s.elements < 0 || s.elements > math.MaxInt64/s.kind.size || t.Offset < 0 || t.Offset > s.elements {
		return fmt.Errorf("offset %d in a storage of %d elements", t.Offset, s.elements)
	}
	n, last := int64(1), t.Offset // the largest index of an element
	for i, d := range t.Shape {
		if d < 0 || t.Stride[i] < 0 {
			return fmt.Errorf("shape %v, strides %v: negative", t.Shape, t.Stride)
		}
		if d == 0 {
			t.Stride = make([]int64, len(t.Shape)) // no elements: the strides do not matter
			return nil
		}
	}
	for i, d := range t.Shape {
		if d > s.elements/n {
			return fmt.Errorf("shape %v in a storage of %d elements: save it with .clone() or .contiguous()", t.Shape, s.elements)
		}
		n *= d
		if d > 1 && t.Stride[i] > (s.elements-1-last)/(d-1) {
			return fmt.Errorf("shape %v, strides %v, offset %d: beyond the end of a storage of %d elements", t.Shape, t.Stride, t.Offset, s.elements)
		}
		if d > 1 {
			last += (d - 1) * t.Stride[i]
		}
	}
	if last >= s.elements {
		return fmt.Errorf("shape %v at offset %d: beyond the end of a storage of %d elements", t.Shape, t.Offset, s.elements)
	}
	return nil
}

// inOrder reports whether the elements are contiguous in row-major order.
func (t *Tensor) inOrder() bool {
	step := int64(1)
	for i := len(t.Shape) - 1; i >= 0; i-- {
		if t.Shape[i] != 1 && t.Stride[i] != step {
			return false
		}
		step *= t.Shape[i]
	}
	return true
}

// newTensor implements torch._utils._rebuild_tensor_v2. Its arguments are
// storage, offset, shape, strides, and values that only training needs.
func newTensor(args []any) (*Tensor, error) {
	if len(args) < 4 {
		return nil, errors.New("a tensor with too few arguments")
	}
	s, ok := args[0].(storage)
	offset, isInt := args[1].(int64)
	if !ok || !isInt {
		return nil, errors.New("a tensor lacks its storage or offset")
	}
	t := &Tensor{DType: s.kind.dtype, Offset: offset, storage: s}
	var err error
	if t.Shape, err = integers(args[2]); err == nil {
		t.Stride, err = integers(args[3])
	}
	return t, err
}

func integers(v any) ([]int64, error) {
	list, ok := v.([]any)
	if !ok || len(list) > maxDims {
		return nil, errors.New("a shape that is not a tuple, or too long")
	}
	out := make([]int64, len(list))
	for i, x := range list {
		if out[i], ok = x.(int64); !ok {
			return nil, errors.New("a shape has a value that is not an integer")
		}
	}
	return out, nil
}
