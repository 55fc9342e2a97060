package httpapi

import (
	"encoding/base64"
	"net/http"
	"strings"

	"cordwood/proto/errs"
	"cordwood/router/access/token"
	"cordwood/router/httpapi/auth"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
)

// credentials returns the credentials in the places of a protocol.
type credentials = func(r *http.Request) []params.Credential

// identify finds out which user sends the request. own returns the credentials in the places of its protocol; nil means
// that it has none.
func (g *gate) identify(x *exchange.Exchange, r *http.Request, own credentials) error {
	var found []params.Credential
	if own != nil && g.auth != nil {
		found = own(r)
	}
	inURL, err := takeCredentials(found, r)
	if err == nil {
		err = g.authenticate(x, r)
	} else {
		err = g.unauthorized(x, r, err)
	}
	if err == nil && inURL && !x.Caller.IngestOnly {
		return g.unauthorized(x, r, errs.New(errs.UserPasswordMismatch, "Token %s was in the URL, which proxies and servers "+
			"log: only a token with the scope INGEST INTO may be sent there", token.Name(x.Caller.Token)))
	}
	return err
}

// takeCredentials puts a protocol's credentials into the header Authorization. It returns an error if the request has
// different credentials, or a password in the URL. inURL is set if a token was in the URL.
func takeCredentials(found []params.Credential, r *http.Request) (inURL bool, err error) {
	if len(found) == 0 {
		return false, nil
	}
	wins := params.Header(r.Header, "X-Svc-Auth")
	headers := []string{wins}
	if wins == "" {
		headers = r.Header.Values("Authorization")
	}
	kept := ""
	for _, c := range found {
		if c.InAuthorization {
			if wins != "" {
				continue // the other header has precedence
			}
			headers = headers[1:] // without the header that has the credentials
		}
		if c.InURL {
			if inURL = true; !token.Like(c.Text) {
				return true, errs.New(errs.InvalidAuthHeader, "The URL contains a password, which proxies and servers log: send "+
					"it in a header, or use a token with the scope INGEST INTO")
			}
		}
		text := headerOf(c.Text)
		if kept != "" && !auth.SameCredentials(kept, text) {
			return inURL, differentCredentials()
		}
		kept = text
	}
	if kept == "" {
		return false, nil
	}
	for _, h := range headers {
		if strings.TrimSpace(h) != "" && !auth.SameCredentials(kept, h) {
			return inURL, differentCredentials()
		}
	}
	r.Header.Set("Authorization", kept)
	r.Header.Del("X-Svc-Auth")
	return inURL, nil
}

func differentCredentials() error {
	return errs.New(errs.InvalidAuthHeader, "The request contains two different users, passwords or tokens: send one")
}

// headerOf returns the value of the header Authorization for user:password or a token.
func headerOf(text string) string {
	if token.Like(text) {
		return "Bearer " + text
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(text))
}
