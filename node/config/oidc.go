package config

import (
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"cordwood/proto/errs"
	"cordwood/router/access/oidc"
)

// OIDC contains the settings of the OpenID Connect provider that authenticates people and programs.
type OIDC struct {
	// Issuer is the URL of the provider. If it is empty, there is none.
	Issuer string
	// ClientID is the id of this server at the provider, and SecretFile has its secret. Without SecretFile, there is none.
	ClientID   string
	SecretFile string
	// Audience is the audience that tokens of programs must have. Empty: ClientID.
	Audience string
	// UserClaim and GroupsClaim are the claims with the name and the groups of a person. Default sub and groups.
	UserClaim, GroupsClaim string
	// MaxAge is how long after a token was issued its claims count. Default an hour.
	MaxAge time.Duration
	// RedirectURL is the URL to which the provider sends browsers back. Empty: it has the host of the request.
	RedirectURL string
}

// The limits of OIDC.MaxAge.
const (
	minPersonAge = time.Minute
	maxPersonAge = 12 * time.Hour
)

// flags declares the settings on fs.
func (o *OIDC) flags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Issuer, "oidc-issuer", "", "`URL` of an OpenID Connect provider, which authenticates people in "+
		"browsers, and programs by its JSON Web Tokens; the groups of roles say which rights they have")
	fs.StringVar(&o.ClientID, "oidc-client-id", "", "`ID` of this server at the OIDC provider")
	fs.StringVar(&o.SecretFile, "oidc-client-secret-file", "", "`FILE` with the secret of this server at the OIDC "+
		"provider, read for each sign-in; by default, there is none")
	fs.StringVar(&o.Audience, "oidc-audience", "", "audience (claim aud) that JSON Web Tokens of programs must have; by "+
		"default, --oidc-client-id")
	fs.StringVar(&o.UserClaim, "oidc-user-claim", "sub", "claim with the name of a person, such as sub, email or "+
		"preferred_username; it must never be given to another person")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", "groups", "claim with the groups of a person")
	durationVar(fs, &o.MaxAge, "oidc-max-age", time.Hour, "how long after a token was issued its groups count, 1m to "+
		"12h; then programs need a new token, and browsers sign in again")
	fs.StringVar(&o.RedirectURL, "oidc-redirect-url", "", "`URL` to which the OIDC provider sends browsers back, "+
		"https://HOST/v1/session/oidc/callback; by default with the host of the request")
}

// check checks the settings of the OIDC provider.
func (o *OIDC) check(f *faults) {
	if o.Issuer == "" {
		for _, s := range []struct{ flag, value string }{
			{"client-id", o.ClientID},
			{"client-secret-file", o.SecretFile},
			{"audience", o.Audience},
			{"redirect-url", o.RedirectURL},
		} {
			if s.value != "" {
				f.add("--oidc-%s has no effect without --oidc-issuer: set both or neither", s.flag)
			}
		}
		return
	}
	if err := oidc.CheckIssuer(o.Issuer); err != nil {
		f.add("--oidc-issuer %q: %w", o.Issuer, err)
	}
	if o.ClientID == "" {
		f.add("--oidc-issuer needs --oidc-client-id: tokens for other clients of the provider are not accepted")
	}
	if o.UserClaim == "" || o.GroupsClaim == "" {
		f.add("--oidc-user-claim and --oidc-groups-claim must not be empty")
	}
	if o.MaxAge < minPersonAge || o.MaxAge > maxPersonAge {
		f.add("--oidc-max-age %s: want 1m to 12h", o.MaxAge)
	}
	if o.RedirectURL != "" {
		if err := oidc.CheckIssuer(o.RedirectURL); err != nil {
			f.add("--oidc-redirect-url %q: %w", o.RedirectURL, err)
		}
	}
	if o.SecretFile != "" {
		if _, err := o.Secret(); err != nil {
			f.add("--oidc-client-secret-file: %w", err)
		}
	}
}

// Secret reads the secret of this server at the provider.
func (o *OIDC) Secret() (string, error) {
	text, err := os.ReadFile(o.SecretFile)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(text))
	if secret == "" {
		return "", errs.New(errs.InvalidArguments, "the file %s is empty", o.SecretFile)
	}
	return secret, nil
}

// Open returns the provider, or nil if there is none. It does not connect.
func (o *OIDC) Open() (*oidc.Provider, error) {
	if o.Issuer == "" {
		return nil, nil
	}
	c := oidc.Config{
		Issuer: o.Issuer, ClientID: o.ClientID, Audience: o.Audience, UserClaim: o.UserClaim, GroupsClaim: o.GroupsClaim,
		MaxAge: o.MaxAge,
	}
	if o.SecretFile != "" {
		c.Secret = o.Secret
	}
	return oidc.New(c)
}
