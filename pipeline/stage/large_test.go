package stage

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"pretext/internal/store"
)

// A recorder hashes what it is given, and keeps the offsets and sizes of the pieces.
type recorder struct {
	store.Writer
	n      int
	pieces [][2]int
}

func (r *recorder) Write(p []byte) (int, error) {
	r.pieces = append(r.pieces, [2]int{r.n, len(p)})
	r.n += len(p)
	return r.Writer.Write(p)
}

// The store writes pieces past the page cache if they are large and begin at multiples of
// their size. Small writes to a large file become such pieces.
func TestALargeFileIsWrittenInLargePieces(t *testing.T) {
	for name, free := range waysToWrite() {
		t.Run(name, func(t *testing.T) {
			folder, err := store.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			o := output(t, folder, 1<<30, free)
			r := &recorder{Writer: o.w}
			o.w = r
			sum := sha256.New()
			row := bytes.Repeat([]byte("0123456789"), 801)
			for i := 0; r.n < store.DirectFrom+6*store.DirectBytes; i++ {
				p := row[:8000+i%10]
				sum.Write(p)
				if n, err := o.Write(p); n != len(p) || err != nil {
					t.Fatalf("%d of %d bytes: %v", n, len(p), err)
				}
			}
			if err := o.Wait(); err != nil {
				t.Fatal(err)
			}
			large := 0
			for _, p := range r.pieces {
				if p[0] >= store.DirectFrom && p[0]%4096 == 0 && p[1] == store.DirectBytes {
					large++
				}
			}
			if large < 5 {
				t.Errorf("%d large pieces at the end: %v", large, r.pieces[len(r.pieces)-8:])
			}
			if err := o.w.Commit(); err != nil {
				t.Fatal(err)
			}
			got, err := store.ReadFile(t.Context(), folder, "x")
			want := hex.EncodeToString(sum.Sum(nil))
			if read := sha256.Sum256(got); err != nil || hex.EncodeToString(read[:]) != want || o.Entry(0, nil).SHA256 != want {
				t.Errorf("%d bytes, %v: not what was written, or not its sum", len(got), err)
			}
		})
	}
}
