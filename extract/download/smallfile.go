package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"pretext/internal/redact"
)

// get downloads a file of at most limit bytes into memory. It retries after failures.
func (c *Client) get(ctx context.Context, address string, limit int64) ([]byte, error) {
	failures := attempts{client: c, url: address}
	for {
		b, err := c.getOnce(ctx, address, limit)
		if err == nil {
			return b, nil
		}
		if err := failures.failed(ctx, err, 0); err != nil {
			return nil, err
		}
	}
}

func (c *Client) getOnce(ctx context.Context, address string, limit int64) ([]byte, error) {
	r, err := c.open(ctx, http.MethodGet, address, http.Header{"Accept-Encoding": {"identity"}})
	if err != nil {
		return nil, err
	}
	defer r.close()
	if err := c.statusOf(r); err != nil {
		return nil, fmt.Errorf("get %s: %w", redact.URL(address), err)
	}
	if r.ContentLength > limit {
		return nil, &fatalError{fmt.Errorf("get %s: %w: %d bytes, more than the limit of %d", redact.URL(address), ErrRefused, r.ContentLength, limit)}
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", redact.URL(address), err)
	}
	if int64(len(b)) > limit {
		return nil, &fatalError{fmt.Errorf("get %s: %w: more than the limit of %d bytes", redact.URL(address), ErrRefused, limit)}
	}
	listing := strings.HasSuffix(address, "/") // a directory listing is a web page
	if name := path.Base(redact.URL(address)); !listing && (isPage(r.Header.Get("Content-Type")) || looksLikePage(b)) {
		return nil, fmt.Errorf("get %s: %w", redact.URL(address), newPageError(name))
	}
	return b, nil
}

// Length asks the server for the size of a file in bytes. It returns 0 if the
// server does not state the size.
func (c *Client) Length(ctx context.Context, address string) (int64, error) {
	failures := attempts{client: c, url: address}
	for {
		r, err := c.open(ctx, http.MethodHead, address, http.Header{"Accept-Encoding": {"identity"}})
		if err == nil {
			err = c.statusOf(r)
			r.close()
		}
		if err == nil {
			return max(0, r.ContentLength), nil
		}
		if err := failures.failed(ctx, fmt.Errorf("get %s: %w", redact.URL(address), err), 0); err != nil {
			return 0, err
		}
	}
}

// indexOf returns the description of a list of files or checksums, for the
// manifest.
func indexOf(address string, content []byte) Index {
	sum := sha256.Sum256(content)
	return Index{Name: path.Base(strings.TrimSuffix(address, "/")), Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}
