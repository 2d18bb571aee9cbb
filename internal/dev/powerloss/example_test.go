package powerloss_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"pretext/internal/dev/powerloss"
	"pretext/internal/store"
)

// A file replaces another, and power fails at every step: the folder holds one or
// the other, whole.
func Example() {
	root, err := os.MkdirTemp("", "example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(root)
	folder, _ := store.Open(filepath.Join(root, "data"))
	store.WriteFile(context.Background(), folder, "x", []byte("old"))

	r, err := powerloss.Record(root)
	if err != nil {
		panic(err)
	}
	store.WriteFile(context.Background(), folder, "x", []byte("new"))
	log, err := r.Stop()
	if err != nil {
		panic(err)
	}

	found := map[string]bool{}
	for i := range log.Len() {
		for _, fate := range powerloss.Fates {
			left := filepath.Join(root, "left", fmt.Sprint(i), fate.Name)
			if err := os.MkdirAll(left, 0o777); err != nil {
				panic(err)
			}
			if err := log.Restore(i, left, fate); err != nil {
				panic(err)
			}
			b, err := os.ReadFile(filepath.Join(left, "data", "x"))
			if err != nil {
				panic(err)
			}
			found[string(b)] = true
		}
	}
	fmt.Println(found)
	// Output: map[new:true old:true]
}
