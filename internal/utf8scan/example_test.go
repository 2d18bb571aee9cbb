package utf8scan_test

import (
	"fmt"

	"pretext/internal/utf8scan"
)

func ExampleValid() {
	fmt.Println(utf8scan.Valid([]byte("Größe")), utf8scan.ValidString("Gr\xf6\xdfe"))
	// Output: true false
}
