package bucket

import (
	"fmt"
	"net/http"
	"strings"

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
