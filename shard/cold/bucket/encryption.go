package bucket

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/encrypt"
)

// EncryptionForms are the forms of S3Config.SSE, for errors.
const EncryptionForms = "none, s3, kms or kms:KEY"

// encryption returns how a service shall encrypt objects, or nil if that is left to the bucket.
func encryption(sse string) (encrypt.ServerSide, error) {
	kind, key, keyed := strings.Cut(sse, ":")
	switch {
	case sse == "" || sse == "none":
		return nil, nil
	case sse == "s3":
		return encrypt.NewSSE(), nil
	case kind == "kms" && keyed == (key != ""):
		return encrypt.NewSSEKMS(key, nil)
	}
	return nil, &SettingError{
		Setting: "sse", Err: fmt.Errorf("encryption of objects %q: want %s", sse, EncryptionForms),
	}
}

// The headers about encryption, in requests and answers.
const (
	encryptionHeader    = "X-Amz-Server-Side-Encryption"
	encryptionKeyHeader = "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"
)

// encrypted returns an error if the service does not say that an object is encrypted as it was asked to.
func (s *s3) encrypted(ctx context.Context, key string) error {
	info, err := s.client.StatObject(ctx, s.bucket, s.prefix+key, minio.StatObjectOptions{})
	if err != nil {
		return s.fail(ctx, "describe", key, err)
	}
	asked := encryptionHeaders(s.sse)
	want, got := asked[encryptionHeader], info.Metadata.Get(encryptionHeader)
	switch {
	case got == "":
		return fmt.Errorf("the service was asked for %s, and does not say that the object is encrypted: it ignores the "+
			"header %s, or does not report it; ask it how objects are encrypted, use a service that does it, or set none", want,
			encryptionHeader)
	case !strings.EqualFold(got, want):
		return fmt.Errorf("the service was asked for %s, and says that the object is encrypted by %s", want, got)
	}
	wantKey, gotKey := asked[encryptionKeyHeader], info.Metadata.Get(encryptionKeyHeader)
	alias := strings.HasPrefix(wantKey, "alias/") || strings.Contains(wantKey, ":alias/") // the answer has the id
	if wantKey != "" && gotKey != "" && !alias && idOfKey(wantKey) != idOfKey(gotKey) {
		return fmt.Errorf("the service was asked for the key %s, and says that the object is encrypted by %s", wantKey,
			gotKey)
	}
	return nil
}

// idOfKey returns the id in an ARN of a key, or an id as it is.
func idOfKey(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }

// encryptionHeaders returns the headers of an encryption, for a request for which the client does not set them.
func encryptionHeaders(sse encrypt.ServerSide) map[string]string {
	if sse == nil {
		return nil
	}
	h := http.Header{}
	sse.Marshal(h)
	out := make(map[string]string, len(h))
	for name := range h {
		out[name] = h.Get(name)
	}
	return out
}
