// Package s3 is a client for object stores with Amazon's S3 API. It makes [store.Open]
// accept locations of the form s3://bucket/key.
//
// Settings come from the environment, as AWS's own tools read them:
//
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN   credentials
//	AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE                      ~/.aws/credentials
//	AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL                         a server that is not Amazon's
//	AWS_REGION, AWS_DEFAULT_REGION                                us-east-1
//
// If these have no credentials, the client uses the IAM role of the machine or container.
// For a server that is not Amazon's, requests have the bucket in the path, not in the host
// name.
package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5" //nolint:gosec // the checksum that S3 asks for
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"pretext/internal/failure"
	"pretext/internal/redact"
	"pretext/internal/store"
)

// Register makes [store.Open] accept locations s3://bucket/key.
func Register() { store.Register("s3", open) }

// client returns the process's only client, which all buckets share.
var client = sync.OnceValues(newClient)

// open returns the client of a bucket.
func open(name string) (store.Bucket, error) {
	if err := s3utils.CheckValidBucketNameStrict(name); err != nil {
		return nil, failure.Usage(err)
	}
	c, err := client()
	if err != nil {
		return nil, err
	}
	return &bucket{c, name}, nil
}

func newClient() (*minio.Core, error) {
	host, secure := "s3.amazonaws.com", true
	lookup := minio.BucketLookupAuto
	if endpoint := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")); endpoint != "" {
		u, err := url.Parse(endpoint)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.Trim(u.Path, "/") != "" {
			return nil, failure.Usagef("AWS_ENDPOINT_URL %s: want http://HOST:PORT or https://HOST", redact.URL(endpoint))
		}
		host, secure, lookup = u.Host, u.Scheme == "https", minio.BucketLookupPath
	}
	transport, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	transport.ResponseHeaderTimeout = 30 * time.Second
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	return minio.NewCore(host, &minio.Options{
		Creds:        providers(),
		Secure:       secure,
		Transport:    transport,
		Region:       cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		BucketLookup: lookup,
		MaxRetries:   1, // no retries here, because package store retries
	})
}

// providers returns the sources of credentials, in order.
func providers() *credentials.Credentials {
	chain := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if disabled := os.Getenv("AWS_EC2_METADATA_DISABLED"); !strings.EqualFold(disabled, "true") {
		chain = append(chain, &credentials.IAM{Client: &http.Client{Timeout: 3 * time.Second}})
	}
	return credentials.NewChainCredentials(chain)
}

type bucket struct {
	core *minio.Core
	name string
}

func (b *bucket) Get(ctx context.Context, key string, part store.Part) (io.ReadCloser, store.Object, error) {
	var o minio.GetObjectOptions
	if err := o.SetRange(part.Offset, part.Offset+part.Length-1); err != nil {
		return nil, store.Object{}, err
	}
	if part.Version != "" {
		if err := o.SetMatchETag(part.Version); err != nil {
			return nil, store.Object{}, err
		}
	}
	body, info, header, err := b.core.GetObject(ctx, b.name, key, o)
	if code := minio.ToErrorResponse(err); err != nil && code.StatusCode == http.StatusRequestedRangeNotSatisfiable && part.Offset == 0 {
		object, err := b.Head(ctx, key) // an empty object has no range
		return io.NopCloser(bytes.NewReader(nil)), object, err
	}
	if err != nil {
		return nil, store.Object{}, explain(err)
	}
	object := describe(info)
	if whole := header.Get("Content-Range"); whole != "" { // bytes 0-15/1234
		if _, err := fmt.Sscanf(whole[strings.LastIndexByte(whole, '/')+1:], "%d", &object.Size); err != nil {
			body.Close()
			return nil, store.Object{}, fmt.Errorf("answer with Content-Range %q", whole)
		}
	}
	if now, err := http.ParseTime(header.Get("Date")); err == nil {
		object.Now = now
	}
	return body, object, nil
}

func describe(info minio.ObjectInfo) store.Object {
	return store.Object{Key: info.Key, Size: info.Size, Version: info.ETag, Modified: info.LastModified}
}

func (b *bucket) Head(ctx context.Context, key string) (store.Object, error) {
	info, err := b.core.StatObject(ctx, b.name, key, minio.StatObjectOptions{})
	if err != nil {
		return store.Object{}, explain(err)
	}
	return describe(info), nil
}

// conditions returns the options of a conditional write. minio-go's setters add the quotes
// that HTTP requires around a version.
func conditions(when store.Condition) (o minio.PutObjectOptions) {
	if when.Absent {
		o.SetMatchETagExcept("*")
	}
	if when.Version != "" {
		o.SetMatchETag(when.Version)
	}
	return o
}

func (b *bucket) Put(ctx context.Context, key string, data []byte, when store.Condition) (store.Object, error) {
	o := conditions(when)
	o.ContentType = "application/octet-stream"
	info, err := b.core.PutObject(ctx, b.name, key, bytes.NewReader(data), int64(len(data)), checksum(data), "", o)
	if err != nil {
		return store.Object{}, explain(err)
	}
	return store.Object{Key: key, Size: int64(len(data)), Version: info.ETag}, nil
}

func checksum(data []byte) string {
	sum := md5.Sum(data) //nolint:gosec // see the import
	return base64.StdEncoding.EncodeToString(sum[:])
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	return explain(b.core.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{}))
}

func (b *bucket) List(ctx context.Context, prefix string, from store.Cursor) (page store.Page, err error) {
	// Without a context: minio-go's listing by page has none.
	result, err := b.core.ListObjectsV2(b.name, prefix, from.Key, from.Next, "/", 1000)
	if err = cmp.Or(ctx.Err(), explain(err)); err != nil {
		return page, err
	}
	for _, info := range result.Contents {
		page.Objects = append(page.Objects, describe(info))
	}
	for _, p := range result.CommonPrefixes {
		page.Folders = append(page.Folders, p.Prefix)
	}
	if result.IsTruncated {
		page.Next = result.NextContinuationToken
	}
	return page, nil
}

func (b *bucket) Begin(ctx context.Context, key string) (store.Upload, error) {
	id, err := b.core.NewMultipartUpload(ctx, b.name, key, minio.PutObjectOptions{ContentType: "application/octet-stream"})
	return store.Upload{Key: key, ID: id}, explain(err)
}

func (b *bucket) Upload(ctx context.Context, u store.Upload, number int, data []byte) (string, error) {
	part, err := b.core.PutObjectPart(ctx, b.name, u.Key, u.ID, number, bytes.NewReader(data), int64(len(data)),
		minio.PutObjectPartOptions{Md5Base64: checksum(data)})
	return part.ETag, explain(err)
}

func (b *bucket) Complete(ctx context.Context, u store.Upload, tags []string, when store.Condition) (store.Object, error) {
	var parts []minio.CompletePart
	for i, tag := range tags {
		parts = append(parts, minio.CompletePart{PartNumber: i + 1, ETag: tag})
	}
	info, err := b.core.CompleteMultipartUpload(ctx, b.name, u.Key, u.ID, parts, conditions(when))
	if err != nil {
		return store.Object{}, explain(err)
	}
	return store.Object{Key: u.Key, Size: info.Size, Version: info.ETag}, nil
}

func (b *bucket) Cancel(ctx context.Context, u store.Upload) error {
	return explain(b.core.AbortMultipartUpload(ctx, b.name, u.Key, u.ID))
}

func (b *bucket) Uploads(ctx context.Context, key string) (uploads []store.Upload, err error) {
	result, err := b.core.ListMultipartUploads(ctx, b.name, key, "", "", "", 1000)
	for _, u := range result.Uploads {
		if u.Key == key {
			uploads = append(uploads, store.Upload{Key: key, ID: u.UploadID})
		}
	}
	return uploads, explain(err)
}

// An answerError is the error of a failed request. Its text has neither credentials nor a
// signed URL.
type answerError struct {
	text  string
	cause error // the error that it matches in errors.Is
}

func (e *answerError) Error() string { return e.text }
func (e *answerError) Unwrap() error { return e.cause }

// explain converts an error of minio-go to the errors that [store.Bucket] specifies.
func explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	answer := minio.ToErrorResponse(err)
	if answer.StatusCode == 0 { // no response from the server
		return &answerError{plain(err), store.ErrTransient}
	}
	text := fmt.Sprintf("%s (%d %s)", strings.TrimSuffix(redact.Text(answer.Message), "."), answer.StatusCode, answer.Code)
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return &answerError{text, fs.ErrNotExist}
	case answer.StatusCode == http.StatusPreconditionFailed:
		return &answerError{text, fs.ErrExist}
	case answer.StatusCode == http.StatusUnauthorized, answer.StatusCode == http.StatusForbidden && answer.Code != "RequestTimeTooSkewed":
		return &answerError{text + ": check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or the profile or role, and what it may do", fs.ErrPermission}
	case answer.StatusCode == http.StatusInsufficientStorage, answer.Code == "XMinioStorageFull", answer.Code == "XMinioAdminBucketQuotaExceeded", answer.Code == "QuotaExceeded":
		return full(text)
	case answer.StatusCode == http.StatusTooManyRequests, strings.HasPrefix(answer.Code, "SlowDown"): // MinIO: SlowDownRead, SlowDownWrite
		return &answerError{text, store.ErrBusy}
	case answer.StatusCode >= 500, answer.StatusCode == http.StatusRequestTimeout,
		answer.StatusCode == http.StatusConflict, // two conditional writes at once
		answer.Code == "RequestTimeout", answer.Code == "IncompleteBody", answer.Code == "BadDigest":
		return &answerError{text, store.ErrTransient}
	}
	return &answerError{text, errAnswer}
}

var errAnswer = failure.Network("the object store refused the request")

// plain returns the cause of a failed connection as text. It omits the URL, which all
// messages already contain.
func plain(err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return redact.Text(err.Error())
}
