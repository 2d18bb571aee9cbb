package stage

import (
	"reflect"
	"testing"
)

// No field of an element may be nil. Beam's Java coder of rows keeps the marks of missing
// fields only if the schema allows them, which Go's does for pointers alone: a TaskManager
// that sorted a nil slice or map read it back from the bytes behind the element.
func TestElementsHaveNoFieldThatMayBeNil(t *testing.T) {
	for _, element := range []any{Task{}, Result{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(element)) {
			switch f.Type.Kind() {
			case reflect.Int, reflect.Int64, reflect.String:
			default:
				t.Errorf("%T.%s: a field of an element must be a number or a string, not a %v", element, f.Name, f.Type)
			}
		}
	}
}
