package failure_test

import (
	"errors"
	"fmt"

	"pretext/internal/failure"
)

var errCorrupt = failure.Damaged("corrupt file")

func Example() {
	err := fmt.Errorf("read x: %w: bad checksum", errCorrupt)
	var damaged interface{ Damaged() bool }
	var usage interface{ Usage() bool }
	fmt.Println(err)
	fmt.Println(errors.Is(err, errCorrupt), errors.As(err, &damaged) && damaged.Damaged(), errors.As(err, &usage))
	// Output:
	// read x: corrupt file: bad checksum
	// true true false
}
