package s3

import (
	"errors"
	"net/http"
	"testing"

	"github.com/minio/minio-go/v7"

	"pretext/internal/store"
)

// An answer that asks for fewer requests is told from that of a server which fails.
func TestABusyServerIsToldFromOneThatFails(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		busy   bool
	}{{http.StatusServiceUnavailable, "SlowDown", true}, {http.StatusServiceUnavailable, "SlowDownRead", true}, {http.StatusTooManyRequests, "TooManyRequests", true},
		{http.StatusServiceUnavailable, "ServiceUnavailable", false}, {http.StatusInternalServerError, "InternalError", false}} {
		err := explain(minio.ErrorResponse{StatusCode: c.status, Code: c.code})
		if !errors.Is(err, store.ErrTransient) || errors.Is(err, store.ErrBusy) != c.busy {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
	}
}
