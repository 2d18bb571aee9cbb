package bzip2_test

import (
	"fmt"
	"io"
	"os"

	"pretext/extract/bzip2"
)

// Two workers share a file: each takes the blocks that begin in its half.
func Example() {
	file, err := os.Open("testdata/blocks-1.bz2")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	size := info.Size()
	for _, r := range []*bzip2.Reader{
		bzip2.NewReader(file, size, bzip2.Range{End: size / 2}),
		bzip2.NewReader(file, size, bzip2.Range{Start: size / 2, End: size}),
	} {
		for {
			b, err := r.Next()
			if err == io.EOF || err == nil && !b.Owned {
				break
			}
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("block at byte %d: %d bytes, %.30q…\n", b.Bit/8, len(b.Data), b.Data)
		}
		fmt.Println("end of range")
	}
	// Output:
	// block at byte 4: 99979 bytes, "line 0 of a small story, told "…
	// block at byte 6450: 99979 bytes, "ld 3 times\nline 2416 of a smal"…
	// end of range
	// block at byte 12835: 91846 bytes, "ine 4805 of a small story, tol"…
	// end of range
}

func ExampleNewStreamReader() {
	file, err := os.Open("testdata/streams.bz2")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	n, err := io.Copy(io.Discard, bzip2.NewStreamReader(file, info.Size()))
	fmt.Println(n, err)
	// Output: 2481 <nil>
}
