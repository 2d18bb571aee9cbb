package download_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	"pretext/extract/download"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "It was a book.")
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "download")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	o := download.DefaultOptions()
	o.Contact = "you@example.org"
	o.AllowPrivate = true // this server is on this machine
	o.Mirrors = []download.Mirror{{Site: download.SiteGutenberg, Base: server.URL}}
	c, err := download.NewClient(o)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	ctx := context.Background()
	list, err := c.Resolve(ctx, download.Request{Kind: download.Gutenberg, IDs: []int{84}})
	if err != nil {
		panic(err)
	}
	for _, f := range list.Files {
		r, err := c.Fetch(ctx, dir, f, download.Hooks{})
		if err != nil {
			panic(err)
		}
		fmt.Println(f.Name, r.Bytes, f.URL)
	}
	// Output: pg84.txt 14 https://www.gutenberg.org/cache/epub/84/pg84.txt
}
