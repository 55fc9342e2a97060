package params

import (
	"encoding/base64"
	"strings"

	"cordwood/router/access/token"
)

// Credential is a user with a password, or a token, in a place that another system's protocol has for it.
type Credential struct {
	// Text is user:password, or a token.
	Text string
	// InURL is set if it was in the query string or in the path, where proxies log it.
	InURL bool
	// InAuthorization is set if it was in the header Authorization, with the protocol's own scheme.
	InAuthorization bool
}

// UserOrToken returns user:password or a token from a text that may have it in base64. Other texts are returned as they
// are.
func UserOrToken(text string) string {
	known := func(s string) bool { return strings.Contains(s, ":") || token.Like(s) }
	if text = strings.TrimSpace(text); known(text) {
		return text
	}
	unpadded := strings.TrimRight(text, "=")
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if decoded, err := encoding.DecodeString(unpadded); err == nil && known(string(decoded)) {
			return string(decoded)
		}
	}
	return text
}
