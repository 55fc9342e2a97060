package elasticsearch

import (
	"encoding/base64"
	"net/http"
	"strings"

	"cordwood/router/access/token"
	"cordwood/router/httpapi/params"
)

// Credentials returns the API key in the header Authorization: a token after the scheme ApiKey, or the base64 of
// id:key. The key is the token, or what follows the id in it.
func Credentials(r *http.Request) []params.Credential {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "ApiKey") {
		return nil
	}
	text := strings.TrimSpace(rest)
	if !token.Like(text) {
		decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
		if err == nil {
			text = string(decoded)
		}
		if id, key, found := strings.Cut(text, ":"); found {
			if text = key; !token.Like(key) {
				text = token.Join(id, key)
			}
		}
	}
	if !token.Like(text) {
		text = token.Name("") // it is refused as a text that is no token
	}
	return []params.Credential{{Text: text, InAuthorization: true}}
}
