package tfrecord_test

import (
	"bytes"
	"fmt"
	"io"

	"pretext/records/tfrecord"
)

func Example() {
	var file bytes.Buffer
	w := tfrecord.NewWriter(&file, tfrecord.WriterOptions{})
	for _, payload := range []string{"first", "second"} {
		if err := w.Write([]byte(payload)); err != nil {
			fmt.Println(err)
		}
	}
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	file.Truncate(file.Len() - 1) // as after a crash

	r := tfrecord.NewReader(&file, tfrecord.ReaderOptions{})
	for {
		payload, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Printf("%s\n", payload)
	}
	// Output:
	// first
	// corrupt record at byte 21: truncated record
}
