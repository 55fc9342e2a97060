package auth

import (
	"crypto/sha256"
	"maps"
	"slices"
	"sync"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/scram"
)

// lists has the sources of the list of users: the user file or option, and the users in the metadata. A name in the
// former hides the same name in the latter.
type lists struct {
	mu sync.Mutex // guards the fields below, and the order of published lists
	// listed are the users of the user file or option; nil if there is neither.
	listed *userList
	// principals are all users and roles of the metadata, and stored the users among them who may sign in.
	principals map[string]*metapb.AccessPrincipal
	stored     map[string]*storedUser
	people     *people
	// expiry publishes the list again when the next user expires; nil: no user expires.
	expiry *time.Timer
}

// storedUser is a user in the metadata.
type storedUser struct {
	*user
	until    time.Time // zero: forever
	disabled bool
}

// Apply changes the users, roles and tokens of the metadata. Calls must not overlap. When Apply returns, the change
// applies to all requests, and work that is no longer allowed has ended.
func (p *Provider) Apply(c metaclient.AccessChanges) {
	whole, principals := c.Whole, c.Principals
	l := &p.lists
	l.mu.Lock()
	if whole || l.principals == nil {
		l.principals, l.stored = map[string]*metapb.AccessPrincipal{}, map[string]*storedUser{}
	}
	roles, person := whole, false
	for _, name := range c.Dropped {
		roles, person = roles || l.principals[name].GetRole(), person || rights.IsPerson(name)
		delete(l.principals, name)
		delete(l.stored, name)
	}
	for _, one := range principals {
		roles, person = roles || one.Role, person || rights.IsPerson(one.Name)
		l.principals[one.Name] = one
	}
	if roles || person {
		l.people = newPeople(l.principals)
	}
	if roles { // any user may have them
		principals = slices.Collect(maps.Values(l.principals))
	}
	for _, one := range principals {
		if !one.Role {
			l.stored[one.Name] = l.storedUser(one)
		}
	}
	p.tokens.apply(c)
	if (len(l.stored)+len(l.people.byGroup) > 0 || p.tokens.any()) && !p.hadStored.Swap(true) {
		p.Heard(p.now())            // before, nothing was known and nobody asked
		p.firstStored <- struct{}{} // it has room for the only one
	}
	p.merge()
	l.mu.Unlock()
	p.recheck()
}

// storedUser returns the user for a principal. mu must be held.
func (l *lists) storedUser(one *metapb.AccessPrincipal) *storedUser {
	u := &storedUser{user: &user{
		sender: access.Sender{
			User: one.Name, Proof: "password", Version: access.StoredVersion | one.PasswordVersion,
			Database: one.DefaultDatabase,
			Grants:   rights.IndexOf(one, func(name string) *metapb.AccessPrincipal { return l.principals[name] }),
		},
		stored: sha256.Sum256([]byte(one.Verifier)),
	}}
	if one.ValidUntilUnixNano != 0 {
		u.until = time.Unix(0, one.ValidUntilUnixNano)
	}
	u.disabled, u.certificate = one.Disabled, one.Certificate
	if keys, err := scram.Parse(one.Verifier); err == nil && !one.Disabled {
		u.password, u.keys = scrammed(keys), &keys
	}
	return u
}

// merge publishes the list of the users who may sign in now. mu must be held.
func (p *Provider) merge() {
	l := &p.lists
	out := &userList{
		byName: map[string]*user{}, stored: len(l.stored) > 0, owners: map[string]*user{}, tokens: &p.tokens, clock: p.time,
		tooOld: p.tooOld, certificates: map[string]*user{}, people: l.people,
	}
	now, next := p.now(), time.Time{}
	for name, u := range l.stored {
		if u.disabled || !u.until.IsZero() && !now.Before(u.until) {
			continue // disabled or expired
		}
		if l.listed == nil || l.listed.byName[name] == nil { // the user of the list is another one
			out.owners[name] = u.user
			if c := u.certificate; c != "" && (l.listed == nil || l.listed.byName[c] == nil) {
				out.certificates[c] = u.user
			}
		}
		if u.password != nil {
			out.byName[name] = u.user
		}
		if !u.until.IsZero() && (next.IsZero() || u.until.Before(next)) {
			next = u.until
		}
	}
	if l.listed != nil {
		maps.Copy(out.byName, l.listed.byName)
	}
	p.users.Store(out)
	if l.expiry != nil {
		l.expiry.Stop()
		l.expiry = nil
	}
	if !next.IsZero() {
		l.expiry = time.AfterFunc(next.Sub(now), func() {
			l.mu.Lock()
			p.merge()
			l.mu.Unlock()
			p.recheck()
		})
	}
}

// Listed reports whether a user comes from the user file or option of this router.
func (p *Provider) Listed(name string) bool {
	if p == nil {
		return false
	}
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	return p.lists.listed != nil && p.lists.listed.byName[name] != nil
}

// barred returns why a user of the metadata cannot sign in with any password, or an empty text.
func (p *Provider) barred(name string) string {
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	u := p.lists.stored[name]
	switch {
	case u == nil || p.lists.listed != nil && p.lists.listed.byName[name] != nil:
		return ""
	case u.disabled:
		return "the user " + shorten(name) + " is disabled; the password was not checked"
	case !u.until.IsZero() && !p.now().Before(u.until):
		return "the time of the user " + shorten(name) + " ended at " + u.until.UTC().Format(time.RFC3339) +
			" (VALID UNTIL); the password was not checked"
	}
	return ""
}

// Principals lists the users and roles of the metadata by name. They must not be changed.
func (p *Provider) Principals() []*metapb.AccessPrincipal {
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	names := slices.Sorted(maps.Keys(p.lists.principals))
	out := make([]*metapb.AccessPrincipal, len(names))
	for i, name := range names {
		out[i] = p.lists.principals[name]
	}
	return out
}

// HasAdministrator reports whether a user of this router or of the metadata may do everything.
func (p *Provider) HasAdministrator() bool {
	p.lists.mu.Lock()
	defer p.lists.mu.Unlock()
	if l := p.lists.listed; l != nil {
		for _, u := range l.byName {
			if u.sender.Right == access.ReadWrite {
				return true
			}
		}
	}
	return rights.Administrators(p.lists.principals) > 0
}

// HasStored reports whether the metadata have had users or tokens since the process began.
func (p *Provider) HasStored() bool { return p.hadStored.Load() }

// FirstStored receives a value when the metadata get their first user or token.
func (p *Provider) FirstStored() <-chan struct{} { return p.firstStored }

// time returns the current time.
func (p *Provider) time() time.Time { return p.now() }
