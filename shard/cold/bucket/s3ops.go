package bucket

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
)

// checksumHeader is the header with the CRC-32C of an object.
const checksumHeader = "X-Amz-Checksum-Crc32c"

// Location implements Bucket.
func (s *s3) Location() string { return "s3://" + s.bucket + "/" + strings.TrimSuffix(s.prefix, "/") }

func (s *s3) core() minio.Core { return minio.Core{Client: s.client} }

// Put implements Bucket.
func (s *s3) Put(ctx context.Context, key string, c Content) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return &Error{Kind: Refused, Op: "write", At: s.at(key), Err: err}
	}
	body := &source{r: io.NewSectionReader(c.Body, 0, c.Size)}
	opts := minio.PutObjectOptions{ContentType: "application/octet-stream", ServerSideEncryption: s.sse}
	var err error
	if c.Replace && c.Size > partBytes {
		// A large object is sent in parts. The client computes their checksums.
		opts.PartSize, opts.NumThreads, opts.SendContentMd5 = partBytes, 2, true
		_, err = s.client.PutObject(ctx, s.bucket, s.prefix+key, body.r, c.Size, opts)
	} else {
		if !c.Replace {
			opts.SetMatchETagExcept("*")
		}
		md5 := ""
		if c.Checked {
			opts.UserMetadata = map[string]string{
				checksumHeader: base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, c.CRC)),
			}
		} else if md5, err = digest(body.r); err != nil {
			return s.fail(ctx, "write", key, &sourceError{err})
		}
		_, err = s.core().PutObject(ctx, s.bucket, s.prefix+key, body, c.Size, md5, "", opts)
	}
	if failed := body.failure(); failed != nil {
		err = failed
	}
	return s.fail(ctx, "write", key, err)
}

// Range implements Bucket. Neither HTTP nor the client notice a flipped byte, an answer that is shorter throughout, or
// a service that ignores the range, so all three are checked here.
func (s *s3) Range(ctx context.Context, key string, r Range) ([]byte, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	fail := func(kind Kind, err error) ([]byte, error) {
		return nil, &Error{Kind: kind, Op: "read", At: s.at(key), Err: err}
	}
	if err := r.check(); err != nil {
		return fail(Refused, err)
	}
	var opts minio.GetObjectOptions
	if err := opts.SetRange(r.Offset, r.Offset+r.Length-1); err != nil {
		return fail(Refused, err)
	}
	body, _, header, err := s.core().GetObject(ctx, s.bucket, s.prefix+key, opts)
	if err != nil {
		return nil, s.fail(ctx, "read", key, err)
	}
	defer body.Close()
	if err := r.answered(header); err != nil {
		return fail(Damaged, err)
	}
	b := make([]byte, r.Length)
	if n, err := io.ReadFull(body, b); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fail(Unavailable, fmt.Errorf("the answer ended after %d of %d bytes", n, r.Length))
	} else if err != nil {
		return nil, s.fail(ctx, "read", key, err)
	}
	if err := r.verify(b); err != nil {
		return fail(Damaged, err)
	}
	return b, nil
}

// answered returns an error unless the headers of an answer describe the range. Only an answer with status 206 has
// the header Content-Range.
func (r *Range) answered(h http.Header) error {
	got := h.Get("Content-Range")
	if got == "" {
		return errors.New("the service ignores the header Range")
	}
	var first, last, size int64
	if n, err := fmt.Sscanf(got, "bytes %d-%d/%d", &first, &last, &size); n < 3 || err != nil {
		return fmt.Errorf("the answer has the header Content-Range: %q", got)
	}
	if r.ObjectSize > 0 && size != r.ObjectSize || size < r.Offset+r.Length {
		return r.otherSize(size)
	}
	if first != r.Offset || last != r.Offset+r.Length-1 {
		return fmt.Errorf("the answer has bytes %d to %d, want %d to %d", first, last, r.Offset, r.Offset+r.Length-1)
	}
	if n := h.Get("Content-Length"); n != "" && n != fmt.Sprint(r.Length) {
		return fmt.Errorf("the answer has %s bytes, want %d", n, r.Length)
	}
	return nil
}

// Open implements Bucket.
func (s *s3) Open(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	var opts minio.GetObjectOptions
	if offset > 0 {
		if err := opts.SetRange(offset, 0); err != nil {
			return nil, &Error{Kind: Refused, Op: "read", At: s.at(key), Err: err}
		}
	}
	body, _, header, err := s.core().GetObject(ctx, s.bucket, s.prefix+key, opts)
	if minio.ToErrorResponse(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		return io.NopCloser(strings.NewReader("")), nil // the offset is at the end: there are no more bytes
	}
	if err != nil {
		return nil, s.fail(ctx, "read", key, err)
	}
	if offset > 0 && !strings.HasPrefix(header.Get("Content-Range"), fmt.Sprintf("bytes %d-", offset)) {
		body.Close()
		return nil, &Error{
			Kind: Damaged, Op: "read", At: s.at(key),
			Err: fmt.Errorf("the answer to a request for the bytes from %d has the header Content-Range: %q", offset,
				header.Get("Content-Range")),
		}
	}
	return body, nil
}

// Head implements Bucket. It has the checksum only after TryChecksums has found that the service compares checksums.
func (s *s3) Head(ctx context.Context, key string) (Info, error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{Checksum: true})
	if err != nil {
		err = s.fail(ctx, "describe", key, err)
		if errors.Is(err, ErrNotFound) {
			err = s.confirmMissing(ctx, key)
		}
		return Info{}, err
	}
	out := Info{Key: key, Size: info.Size, Modified: info.LastModified}
	if !s.checks.Load() {
		return out, nil
	}
	// The checksum of an object that was sent in parts is not one of its bytes, and has a suffix.
	if b, err := base64.StdEncoding.DecodeString(info.ChecksumCRC32C); err == nil && len(b) == 4 {
		out.CRC, out.Checked = binary.BigEndian.Uint32(b), true
	}
	return out, nil
}

// List implements Bucket.
func (s *s3) List(ctx context.Context, prefix string, f func(Info) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for info := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{
		Prefix: s.prefix + prefix, Recursive: true,
	}) {
		if info.Err != nil {
			return s.fail(ctx, "list", "", info.Err)
		}
		if strings.HasSuffix(info.Key, "/") {
			continue // a folder that another program stores as an object
		}
		key := strings.TrimPrefix(info.Key, s.prefix)
		if err := f(Info{Key: key, Size: info.Size, Modified: info.LastModified}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Delete implements Bucket.
func (s *s3) Delete(ctx context.Context, key string) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	err := s.client.RemoveObject(ctx, s.bucket, s.prefix+key, minio.RemoveObjectOptions{})
	if err = s.fail(ctx, "remove", key, err); errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// Copy implements Bucket.
func (s *s3) Copy(ctx context.Context, key string, to Bucket, toKey string) error {
	if err := errors.Join(CheckKey(key), CheckKey(toKey)); err != nil {
		return err
	}
	other, ok := to.(*s3)
	if !ok || other.host != s.host {
		return &Error{Kind: Refused, Op: "copy", At: s.at(key), Err: ErrOtherService}
	}
	_, err := other.core().CopyObject(ctx, s.bucket, s.prefix+key, other.bucket, other.prefix+toKey,
		encryptionHeaders(other.sse),
		minio.CopySrcOptions{}, minio.PutObjectOptions{})
	return s.fail(ctx, "copy", key, err)
}
