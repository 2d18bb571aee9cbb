//go:build unix

package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// parquetKinds are hostile Parquet files, made from fixtures of package parquet,
// which pyarrow wrote: with wrong facts, truncated, corrupt, or with contents much
// larger than the file.
func parquetKinds() []hostileKind {
	fixture := func(r *rand.Rand) []byte {
		paths, _ := filepath.Glob("../../extract/parquet/testdata/*.parquet")
		paths = slices.DeleteFunc(paths, func(p string) bool {
			return slices.Contains([]string{"bomb.parquet", "large-value.parquet"}, filepath.Base(p))
		})
		b, err := os.ReadFile(paths[r.IntN(len(paths))])
		if err != nil {
			panic(err)
		}
		return b
	}
	named := func(name string) func(*rand.Rand, *trap) []byte {
		return func(*rand.Rand, *trap) []byte {
			b, err := os.ReadFile("../../extract/parquet/testdata/" + name + ".parquet")
			if err != nil {
				panic(err)
			}
			return b
		}
	}
	changed := func(change func(r *rand.Rand, b []byte) []byte) func(*rand.Rand, *trap) []byte {
		return func(r *rand.Rand, _ *trap) []byte { return change(r, fixture(r)) }
	}
	return []hostileKind{
		{"parquet-bomb.parquet", "--books", named("bomb")},
		{"parquet-large.parquet", "--books", named("large-value")},
		{"parquet-cut.parquet", "--books", changed(func(r *rand.Rand, b []byte) []byte { return b[:r.IntN(len(b))] })},
		{"parquet-footer.parquet", "--books", changed(func(r *rand.Rand, b []byte) []byte {
			binary.LittleEndian.PutUint32(b[len(b)-8:], []uint32{0, 1, 1 << 31, 1<<32 - 1, uint32(len(b)), r.Uint32()}[r.IntN(6)])
			return b
		})},
		{"parquet-bytes.parquet", "--books", changed(func(r *rand.Rand, b []byte) []byte {
			for range 1 + r.IntN(20) {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
			return b
		})},
		{"parquet-metadata.parquet", "--books", changed(func(r *rand.Rand, b []byte) []byte {
			n := int(binary.LittleEndian.Uint32(b[len(b)-8:]))
			for range 1 + r.IntN(6) {
				b[len(b)-8-1-r.IntN(n)] = byte(r.Uint32())
			}
			return b
		})},
		{"parquet-spliced.parquet", "--books", func(r *rand.Rand, _ *trap) []byte {
			a, b := fixture(r), fixture(r)
			return append(a[:r.IntN(len(a))], b[r.IntN(len(b)):]...)
		}},
		{"parquet-zeros.parquet", "--books", func(*rand.Rand, *trap) []byte {
			return append(append([]byte("PAR1"), bytes.Repeat([]byte{0}, 1<<20)...), "\x00\x00\x10\x00PAR1"...)
		}},
	}
}
