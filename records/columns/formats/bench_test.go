package formats_test

import (
	"io"
	"testing"

	"pretext/records"
	"pretext/records/columns"
	"pretext/records/columns/formats"
	"pretext/records/tfrecord"
)

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

func discarded(string) (io.WriteCloser, error) { return discard{}, nil }

// BenchmarkWrite writes examples of 128 tokens and 20 predictions as TFRecord, with
// and without gzip, and in each format that holds them.
func BenchmarkWrite(b *testing.B) {
	list := examples(1000, 128, 20)
	for _, compression := range []string{"none", "gzip"} {
		b.Run("tfrecord, "+compression, func(b *testing.B) {
			w := tfrecord.NewWriter(discard{}, tfrecord.WriterOptions{Gzip: compression == "gzip"})
			var payload []byte
			for i := range b.N {
				payload = list[i%len(list)].Append(payload[:0])
				if err := w.Write(payload); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for _, name := range formats.Names() {
		f, _ := formats.Get(name)
		if !columns.Holds(f, records.Pairs) {
			continue
		}
		b.Run(name, func(b *testing.B) {
			p := part(records.Pairs, list, 128, 20)
			p.Rows = int64(b.N)
			w, err := f.NewWriter(p, discarded)
			if err != nil {
				b.Fatal(err)
			}
			table := columns.NewTable(columns.Spec{Form: records.Pairs})
			b.ResetTimer()
			for i := range b.N {
				if err := w.Write(table.Row(list[i%len(list)])); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
