//go:build cluster

package flink

import (
	"crypto/hmac"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pretext/internal/failure"
	"pretext/internal/trust"
)

// tokenLife is how long a job's token is valid. It must cover a whole stage, because
// Flink may start or restart workers until the stage ends.
const tokenLife = 7 * 24 * time.Hour

// A token proves to a worker pool that a job was submitted with the pool's secret. It
// contains its expiry time in Unix seconds and a MAC of that time, the job's name, and
// the URL at which workers ask about the job. Flink's TaskManager passes the token on to
// the pool.
func token(key []byte, job, rest string, until time.Time) string {
	limit := strconv.FormatInt(until.Unix(), 10)
	return limit + "." + hex.EncodeToString(tokenMAC(key, job, rest, limit))
}

func tokenMAC(key []byte, job, rest, limit string) []byte {
	return trust.MAC(key, "pretext job of a worker pool 1", []byte(job), []byte(rest), []byte(limit))
}

// checkToken returns a usage error unless the job's parameters contain a valid token for
// this key.
func checkToken(key []byte, params map[string]string, now time.Time) error {
	text := params[tokenVariable]
	if text == "" {
		return failure.Usagef("this pool has a secret and the job shows none: give --worker-secret FILE, with the file that the pool has")
	}
	limit, sum, _ := strings.Cut(text, ".")
	got, err := hex.DecodeString(sum)
	until, errLimit := strconv.ParseInt(limit, 10, 64)
	if err != nil || errLimit != nil || !hmac.Equal(got, tokenMAC(key, params[jobVariable], params[restVariable], limit)) {
		return failure.Usagef("the job has another secret than this pool: give --worker-secret the file that the pool has")
	}
	if now.Unix() > until {
		return fmt.Errorf("the job is older than %v: run the same command again", tokenLife)
	}
	return nil
}
