package auth

import (
	"time"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// While the metadata group cannot be reached, a router does not learn who has lost a right. It trusts the users and
// tokens that it knows for a limited time. Users of the user file or option do not depend on the metadata.

// Heard notes that at the given time this router knew all users and tokens of the metadata.
func (p *Provider) Heard(at time.Time) {
	for {
		before := p.heard.Load()
		if n := at.UnixNano(); n <= before || p.heard.CompareAndSwap(before, n) {
			return
		}
	}
}

// Age returns how old the knowledge of users and tokens of the metadata may be. It is 0 as long as the metadata have
// none.
func (p *Provider) Age() time.Duration {
	if p == nil || !p.hadStored.Load() {
		return 0
	}
	return max(p.now().Sub(time.Unix(0, p.heard.Load())), 0)
}

// tooOld returns the error for a sender of the metadata whose rights may be too old, or nil.
func (p *Provider) tooOld(s *access.Sender) error {
	if p.maxAge == 0 || s.Token == "" && s.Version&access.StoredVersion == 0 {
		return nil
	}
	age := p.Age()
	if age <= p.maxAge {
		return nil
	}
	return errs.New(errs.ShardNotReady, "this router has not heard from the metadata group for %s, so it cannot tell who "+
		"may do what: send the request to another router, or try again", age.Round(time.Second)).
		WithRetryAfter(5 * time.Second)
}

// Problem says why a user with a password, or a token if user is empty, cannot store rows, as far as this can be told
// without a check of the password. It returns "" if nothing is wrong, and counts no sign-in. Anybody may read the
// text, so it has no names.
func (p *Provider) Problem(user, password string) string {
	need := access.Need{Privilege: access.Insert, Action: "ingest"}
	if user == "" {
		id, ok := token.Parse(password)
		if !ok {
			return "the token was changed or cut"
		}
		s, err := p.tokenSender(id, token.Hash(password))
		if err == nil {
			err = p.tokens.check(&s, p.now())
		}
		if err != nil && errs.CodeOf(err) != errs.PermissionDenied { // the addresses of senders are not known here
			return "the token is unknown, was revoked or has expired"
		}
		s = p.Current(s)
		return problemText("token", s.Require(need))
	}
	u := p.users.Load().byName[user]
	if u == nil {
		return "the user does not exist, has no password, was disabled or has expired"
	}
	return problemText("user", u.sender.Require(need))
}

func problemText(who string, err error) string {
	if err == nil {
		return ""
	}
	return "the " + who + " may not store rows"
}
