package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLargePiecesPassThePageCache writes large aligned pieces and others in turns: as the
// system is, where the system refuses to bypass the page cache, and where the disk wants
// another alignment. The content is the same, and on ext4 the large pieces bypass it.
func TestLargePiecesPassThePageCache(t *testing.T) {
	system, fits := fcntl, aligned
	defer func() { fcntl, aligned = system, fits }()
	large := bytes.Repeat([]byte("0123456789abcdef"), DirectBytes/16)
	odd, rest := large[:DirectBytes-3], large[:4099] // together as long as a multiple of directAlignment
	for name, prepare := range map[string]func(){
		"as it is":          func() {},
		"refused":           func() { fcntl = func(uintptr, int, int) (int, error) { return 0, errors.ErrUnsupported } },
		"another alignment": func() { aligned = func(int64, []byte) bool { return true } },
	} {
		t.Run(name, func(t *testing.T) {
			fcntl, aligned = system, fits
			prepare()
			f, err := os.Create(filepath.Join(t.TempDir(), "x"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			var s unix.Statfs_t
			if err := unix.Fstatfs(int(f.Fd()), &s); err != nil {
				t.Fatal(err)
			}
			var d direct
			var want []byte
			for i, piece := range [][]byte{large, large, large[:4096], large, odd, large, rest, large} {
				size := int64(DirectFrom + len(want))
				if i == 0 {
					size = 0
				}
				past := i > 0 && s.Type == unix.EXT4_SUPER_MAGIC && name == "as it is" && len(piece) == len(large) && len(want)%directAlignment == 0
				if n, err := d.write(f, size, piece); n != len(piece) || err != nil {
					t.Fatalf("piece %d: wrote %d of %d bytes, %v", i, n, len(piece), err)
				}
				if name == "as it is" && d.on != past {
					t.Errorf("piece %d: past the page cache %t, want %t", i, d.on, past)
				}
				want = append(want, piece...)
			}
			if name != "as it is" && (!d.off || d.on) && s.Type == unix.EXT4_SUPER_MAGIC {
				t.Errorf("after a refusal: %+v", d)
			}
			if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes read, want %d; %v", len(got), len(want), err)
			}
		})
	}
}
