package auth

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// Check returns the sender for a user and a password. It returns the same errors as Authenticate. If the password
// is stored as a slow hash, only a few requests may check it at a time, and others wait for a short time.
func (p *Provider) Check(ctx context.Context, user, password string, from netip.Addr) (access.Sender, error) {
	if p == nil {
		return access.Everybody(), nil
	}
	s, err := p.check(ctx, user, password, from)
	p.noteRefused(access.Sender{User: user, Proof: "password"}, from, err)
	return s, err
}

// noteRefused reports a failed sign-in.
func (p *Provider) noteRefused(s access.Sender, from netip.Addr, err error) {
	code := errs.CodeOf(err)
	if err != nil && p.refused != nil && code != errs.Cancelled && code != errs.ShardNotReady {
		if why := p.barred(s.User); code == errs.UserPasswordMismatch && s.Proof == "password" && why != "" {
			err = refuse(code, why) // for administrators only: the client is told the same as for a wrong password
		}
		p.refused(s, from, err)
	}
}

func (p *Provider) check(ctx context.Context, user, password string, from netip.Addr) (access.Sender, error) {
	if strings.TrimSpace(user) == "" || password == "" {
		return access.Sender{}, refuse(errs.InvalidArguments, "Invalid authorization header: blank user name or password")
	}
	users := p.users.Load()
	u, found := users.byName[user]
	var match bool
	var err error
	switch {
	case !found && users.stored:
		// The check for a user that does not exist takes as long as the check for an existing user.
		_, err = p.checkSlow(ctx, p.unknownUser(user), password, from)
	case found && u.password.slow():
		match, err = p.checkSlow(ctx, u, password, from)
	case found:
		match, err = p.checkFast(u, password, from)
	default:
		err = p.lockedError(user, from)
	}
	switch {
	case err != nil:
		return access.Sender{}, err
	case match:
		return u.sender, p.tooOld(&u.sender)
	}
	p.countFailure(user, from)
	if !found && !users.stored {
		return access.Sender{}, refuse(errs.UserNotFound, "User not found, username: "+shorten(user))
	}
	return access.Sender{}, refuse(errs.UserPasswordMismatch, "Username and password does not match, username: "+
		shorten(user))
}

// unknownUser returns a user that no password matches.
func (p *Provider) unknownUser(name string) *user {
	return &user{sender: access.Sender{User: name}, password: scrammed(p.nobody(name))}
}

// checkFast reports whether the password is right. While too many sign-ins have failed, it accepts the password
// only from where the user signed in recently, as for slow checks.
func (p *Provider) checkFast(u *user, password string, from netip.Addr) (bool, error) {
	locked := p.lockedError(u.sender.User, from)
	if locked != nil && !p.guesses.trusted(u.sender.User, from) {
		return false, locked
	}
	if !u.password.matches(password) {
		return false, locked
	}
	p.guesses.succeeded(u.sender.User, from)
	return true, nil
}

// checkSlow reports whether the password is right. It uses a remembered result, or computes the hash. While too many
// sign-ins have failed, it uses remembered results only where the user signed in recently. Otherwise whoever guesses
// at another address would learn from them which guess is right, as often as the server can look them up.
func (p *Provider) checkSlow(ctx context.Context, u *user, password string, from netip.Addr) (match bool, err error) {
	defer func() {
		if match {
			p.guesses.succeeded(u.sender.User, from)
		}
	}()
	locked := p.lockedError(u.sender.User, from)
	if locked != nil && !p.guesses.trusted(u.sender.User, from) {
		return false, locked
	}
	key := p.remembered.key(u.sender.User, u.sender.Version, password)
	if p.remembered.has(key) {
		return true, nil
	}
	if locked != nil {
		return false, locked
	}
	leave, err := p.slow.enter(ctx, wide(from), p.guesses.failures(from))
	if err != nil {
		if errs.CodeOf(err) == errs.RateLimited {
			return false, err
		}
		return false, errs.Wrap(errs.Cancelled, err, "checking a password").WithStatus(http.StatusUnauthorized)
	}
	defer leave()
	// While this request waited, other requests may have verified the same password or failed to log in.
	if p.remembered.has(key) {
		return true, nil
	}
	if err := p.lockedError(u.sender.User, from); err != nil {
		return false, err
	}
	if !u.password.matches(password) {
		return false, nil
	}
	p.remembered.put(key)
	return true, nil
}

// lockedError returns the error for a user at an address with too many failed sign-ins.
func (p *Provider) lockedError(user string, from netip.Addr) error {
	left := p.guesses.locked(user, from)
	if left == 0 {
		return nil
	}
	seconds := (left + time.Second - 1).Truncate(time.Second)
	return errs.New(errs.RateLimited, "too many failed sign-ins of %s from %s; try again in %d s", shorten(user), from,
		int(seconds.Seconds())).WithRetryAfter(seconds)
}

func refuse(code errs.Code, msg string) error {
	return (&errs.Error{Code: code, Msg: msg}).WithStatus(http.StatusUnauthorized)
}

// shorten limits the length of a client's text in an error, and hides a token in it.
func shorten(s string) string {
	s = token.Hide(s)
	if len(s) > 128 {
		return strings.ToValidUTF8(s[:128], "") + "…"
	}
	return s
}
