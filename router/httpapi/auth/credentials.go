package auth

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"cordwood/proto/errs"
	"cordwood/router/access/token"
)

// credentials are a user with a password, a token, or a JSON Web Token of an OIDC provider.
type credentials struct{ user, password, token, web string }

// parseCredentials parses the value of the header Authorization: Basic with a user and a password, or with a token as
// password and any user, or Bearer with a token.
func parseCredentials(header string) (c credentials, err error) {
	scheme, rest, _ := strings.Cut(header, " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(scheme) {
	case "basic":
	case "bearer":
		switch {
		case token.Like(rest):
			return credentials{token: rest}, nil
		case isWebToken(rest):
			return credentials{web: rest}, nil
		}
		return c, notOurToken()
	default:
		return c, refuse(errs.InvalidAuthHeader, "Invalid authorization header: unknown scheme, use Basic, or Bearer with a "+
			"token")
	}
	decoded, err := base64.StdEncoding.DecodeString(rest)
	if err != nil || !utf8.Valid(decoded) {
		return c, refuse(errs.InvalidAuthHeader,
			"Invalid authorization header: Basic is not followed by base64 of user:password")
	}
	user, password, found := strings.Cut(string(decoded), ":")
	if !found {
		return c, refuse(errs.InvalidAuthHeader, "Invalid authorization header: the credentials are neither USER:PASSWORD "+
			"nor a token of this server, which begins with "+token.Name(""))
	}
	if isToken(password) {
		return credentials{token: password}, nil
	}
	return credentials{user: user, password: password}, nil
}

func notOurToken() error {
	return refuse(errs.UserPasswordMismatch, "The Bearer token is not one of this server: tokens begin with "+
		token.Name("")+"; users authenticate with Basic")
}

// isWebToken reports whether a text has the form of a signed JSON Web Token: three parts in base64url.
func isWebToken(text string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts {
		if _, err := base64.RawURLEncoding.DecodeString(p); err != nil || p == "" {
			return false
		}
	}
	return true
}

// isToken reports whether a password is a token. Other passwords may begin like one.
func isToken(password string) bool {
	_, ok := token.Parse(password)
	return ok
}

// SameCredentials reports whether two values of the header Authorization have the same user and password, or the same
// token.
func SameCredentials(a, b string) bool {
	if a == b {
		return true
	}
	one, errOne := parseCredentials(strings.TrimSpace(a))
	other, errOther := parseCredentials(strings.TrimSpace(b))
	return errOne == nil && errOther == nil && one == other
}
