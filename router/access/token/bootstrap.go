package token

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// A bootstrap token creates the first administrator of a cluster. It has the form cwb_ and, in base64, the time at
// which it expires, a random value, and an authentication code by a key that only the routers of the cluster have. So
// nothing is stored, and each router accepts it. The metadata group creates only one first administrator, so it has
// only one use.

const (
	bootstrapPrefix = "cwb_"
	nonceLen        = 16
	bootstrapLen    = 8 + nonceLen + sha256.Size
	// BootstrapKeys is the purpose of the keys.
	BootstrapKeys = "cordwood bootstrap tokens, version 1"
)

// Bootstrap returns a new bootstrap token for a cluster, which is valid until the time expires.
func Bootstrap(key []byte, cluster string, expires time.Time) string {
	b := binary.BigEndian.AppendUint64(nil, uint64(expires.Unix())) //nolint:gosec // it is after 1970
	b = append(b, make([]byte, nonceLen)...)
	_, _ = rand.Read(b[8:]) // never fails
	return bootstrapPrefix + base64.RawURLEncoding.EncodeToString(append(b, bootstrapMAC(key, cluster, b)...))
}

// CheckBootstrap reports whether one of the keys has made a bootstrap token for the cluster, and when it expires.
func CheckBootstrap(keys [][]byte, cluster, text string) (expires time.Time, ok bool) {
	rest, found := strings.CutPrefix(text, bootstrapPrefix)
	if !found || len(rest) != base64.RawURLEncoding.EncodedLen(bootstrapLen) {
		return time.Time{}, false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(rest)
	if err != nil {
		return time.Time{}, false
	}
	body, code := b[:8+nonceLen], b[8+nonceLen:]
	for _, key := range keys {
		if hmac.Equal(code, bootstrapMAC(key, cluster, body)) {
			return time.Unix(int64(binary.BigEndian.Uint64(body)), 0), true //nolint:gosec // Bootstrap made it
		}
	}
	return time.Time{}, false
}

func bootstrapMAC(key []byte, cluster string, body []byte) []byte {
	h := hmac.New(sha256.New, key)
	_, _ = h.Write(body) // it never fails
	_, _ = h.Write([]byte(cluster))
	return h.Sum(nil)
}
