package loader_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"pretext/records"
	"pretext/sharding"
	"pretext/trainer/loader"
)

// loop returns what a loop yields, copied, and the error that ended it.
func loop(s *loader.Shards) (all []loader.Record, err error) {
	for r, err := range s.Examples(context.Background()) {
		if err != nil {
			return all, err
		}
		r.Example = copyOf(r.Example)
		all = append(all, r)
	}
	return all, nil
}

func copyOf(e *records.Example) *records.Example {
	c := &records.Example{}
	if err := c.Decode(e.Append(nil)); err != nil {
		panic(err) // what was decoded can be encoded and decoded
	}
	return c
}

// Any bytes as a file of records: the loop ends, and every example before the
// damage is also found by its number.
func FuzzForeignFile(f *testing.F) {
	data, _ := frames(upTo(0, 4))
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add(zip(mustFail{}, data))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "a.tfrecord")
		writeFile(t, path, data)
		s, err := loader.Open(context.Background(), path, loader.Options{})
		if err != nil {
			return // plain text is told from records at once
		}
		all, loopErr := loop(s)
		index, err := s.Index(context.Background())
		if err != nil {
			return
		}
		if loopErr == nil && index.Len() != int64(len(all)) {
			t.Fatalf("got %d records in the index, %d in the loop", index.Len(), len(all))
		}
		p := index.NewPicker()
		defer p.Close()
		for i := range index.Len() {
			got, err := p.At(context.Background(), i)
			if i < int64(len(all)) && (err != nil || !reflect.DeepEqual(got, all[i])) {
				t.Fatalf("record %d: got %+v, %v, want %+v", i, got, err, all[i])
			}
		}
	})
}

// Any bytes as the index of a shard: it is refused, or numbers lead to the
// records of the loop or to an error, never to a wrong record.
func FuzzShardIndex(f *testing.F) {
	good := newFolder(mustFail{}, false, shard{sharding.Train, upTo(0, 6)})
	const name = "train-00000-of-00001.idx"
	f.Add(good.files[name])
	f.Add([]byte("0 255\n255 255\n510 510\n1020 255\n"))
	f.Fuzz(func(t *testing.T, index []byte) {
		folder := newFolder(t, false, shard{sharding.Train, upTo(0, 6)})
		folder.files[name] = index
		folder.describe()
		dir := folder.write(t)
		defer os.RemoveAll(dir)
		s := open(t, dir, loader.Options{})
		x, err := s.Index(context.Background())
		if err != nil {
			return
		}
		all, err := loop(s)
		if err != nil || x.Len() != int64(len(all)) {
			t.Fatalf("got %d records in the index, %d in the loop, %v", x.Len(), len(all), err)
		}
		p := x.NewPicker()
		defer p.Close()
		for i := range x.Len() {
			if got, err := p.At(context.Background(), i); err == nil && !reflect.DeepEqual(got, all[i]) {
				t.Fatalf("record %d: got %+v, want %+v", i, got, all[i])
			}
		}
	})
}
