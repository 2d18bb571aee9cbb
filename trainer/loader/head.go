package loader

import (
	"context"
	"errors"
	"iter"

	"pretext/records"
	"pretext/sharding"
)

// Head yields the first n examples of every selected file, or all examples of a
// shorter file. It needs no index and also reads compressed files. At a corrupt
// record, Head continues with the next file and yields no error: reading the whole
// file reports it. Other errors end the sequence.
func (s *Shards) Head(ctx context.Context, n int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		var example records.Example
		for i := range s.files {
			left, more := n, true
			_, err := s.read(ctx, &s.files[i], &example, func(r Record, err error) bool {
				left--
				more = yield(r, err)
				return more && left > 0
			})
			var record *sharding.RecordError
			var damage *sharding.DamageError
			if err != nil && !errors.As(err, &record) && !errors.As(err, &damage) {
				yield(Record{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}
