package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// makeKeys computes the SCRAM keys of all users without keys, on all processors.
func (p *Provider) makeKeys(users *userList) {
	var work []*user
	for _, u := range users.byName {
		if keys, ok := scramKeys(u.password); ok {
			u.keys = &keys
		}
		if u.keys == nil && p.scram && u.text != "" {
			work = append(work, u)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(work)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(work)); i = next.Add(1) - 1 {
				if keys, err := scram.New(work[i].text, p.iterations); err == nil {
					work[i].keys = &keys
				}
			}
		})
	}
	wg.Wait()
	for _, u := range users.byName {
		u.text = ""
	}
}

// Challenge is the sign-in of a user by SCRAM, which does not show the password to the server.
type Challenge struct {
	// Keys are the keys for the exchange. For a user that does not exist, they match no password, so that a
	// client cannot find out which names exist.
	Keys scram.Keys
	// Password is set if keys cannot be derived from the stored form of the user's password. Then the client must
	// send the password, and Provider.Check checks it.
	Password bool
	// Token is set if the client must send a token as password.
	Token bool

	p    *Provider
	user *user // nil if the user does not exist or cannot sign in
	name string
	from netip.Addr
}

// TokenUser is the user name with which a token is sent where a protocol requires a name.
const TokenUser = "token"

// Challenge starts a sign-in. The error is RateLimited after too many failures.
func (p *Provider) Challenge(name string, from netip.Addr) (*Challenge, error) {
	if name == TokenUser && p.users.Load().byName[name] == nil {
		return &Challenge{p: p, name: name, from: from, Password: true, Token: true}, nil
	}
	if err := p.lockedError(name, from); err != nil {
		p.noteRefused(access.Sender{User: name, Proof: "password"}, from, err)
		return nil, err
	}
	c := &Challenge{p: p, name: name, from: from}
	u, found := p.users.Load().byName[name]
	if found && u.keys != nil {
		c.user, c.Keys = u, *u.keys
		return c, nil
	}
	if found {
		_, c.Password = u.password.(bcrypted)
	}
	c.Keys = p.nobody(name)
	return c, nil
}

// HideUnknown sets the function that returns the secret for the salts of users that do not exist. It must be the same
// secret on all routers of a cluster. Otherwise their different salts show that a user does not exist. By default it is
// a secret of the process. HideUnknown must be called before the first sign-in.
func (p *Provider) HideUnknown(secret func() []byte) { p.unknown = secret }

// nobody returns keys that match no password. They are the same for a name as long as the secret is the same.
func (p *Provider) nobody(name string) scram.Keys {
	sum := func(what string) []byte {
		m := hmac.New(sha256.New, p.unknown())
		m.Write([]byte(what))
		m.Write([]byte(name))
		return m.Sum(nil)
	}
	return scram.Keys{
		Iterations: p.iterations, Salt: sum("salt ")[:16], Stored: sum("stored "), Server: sum("server "),
	}
}

// Passed returns the sender after the client has proved that it knows the password. ok is false if the user does
// not exist.
func (c *Challenge) Passed() (s access.Sender, ok bool) {
	if c.user == nil {
		return s, false
	}
	return c.user.sender, true
}

// Failed counts a failed sign-in of a client that did not know the password.
func (c *Challenge) Failed() {
	c.p.countFailure(c.name, c.from)
	c.p.noteRefused(access.Sender{User: c.name, Proof: "password"}, c.from, refuse(errs.UserPasswordMismatch,
		"Username and password does not match, username: "+shorten(c.name)))
}

// countFailure counts a sign-in that failed.
func (p *Provider) countFailure(user string, from netip.Addr) {
	if p.guesses.failed(user, from) {
		p.log.Warn("sign-ins are refused until a minute after the first of too many failures", "user", shorten(user),
			"remote", from)
	}
}

// Cleartext returns the sender for a password or token that the client sent as plain text. It returns the errors of
// Check or Token.
func (c *Challenge) Cleartext(ctx context.Context, password string) (access.Sender, error) {
	if c.Token {
		return c.p.Token(password, c.from)
	}
	return c.p.Check(ctx, c.name, password, c.from)
}
