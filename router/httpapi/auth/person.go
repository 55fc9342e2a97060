package auth

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
)

// Verifier verifies tokens of an OIDC provider. *oidc.Provider implements it.
type Verifier interface {
	// Verify returns the name of the person whom a token is about, and what the token says. The error has status 401 if
	// the token is not valid.
	Verify(ctx context.Context, token string) (name string, who *access.Person, err error)
}

// proofPerson is the Proof of a sender whom an OIDC provider authenticates.
const proofPerson = "oidc"

// maxPersonIndexes is the number of combinations of roles whose indexes are kept.
const maxPersonIndexes = 1000

// people has what the metadata say about people whom an OIDC provider authenticates. Only indexes changes.
type people struct {
	// principals are the roles, and the users with names of people. byGroup are the names of the roles with each group.
	principals map[string]*metapb.AccessPrincipal
	byGroup    map[string][]string

	mu      sync.Mutex // guards indexes
	indexes *lru.Cache[string, *rights.Index]
}

// newPeople returns what all users and roles mean for people.
func newPeople(all map[string]*metapb.AccessPrincipal) *people {
	p := &people{
		principals: map[string]*metapb.AccessPrincipal{}, byGroup: map[string][]string{},
		indexes: lru.New[string, *rights.Index](maxPersonIndexes),
	}
	for name, one := range all {
		if one.Role || rights.IsPerson(name) {
			p.principals[name] = one
		}
		if one.Role {
			for _, g := range one.Groups {
				p.byGroup[g] = append(p.byGroup[g], name)
			}
		}
	}
	return p
}

// index returns the rights of a person: those of the roles with one of the groups, and those that the name has.
func (p *people) index(name string, who *access.Person) *rights.Index {
	set := map[string]bool{}
	for _, g := range who.Groups {
		for _, role := range p.byGroup[g] {
			set[role] = true
		}
	}
	roles := slices.Sorted(maps.Keys(set))
	stored := p.principals[name]
	key := strings.Join(roles, "\x00") // names of roles have no such byte
	if len(stored.GetGrants())+len(stored.GetRoles()) > 0 {
		key += "\x00\x00" + name
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	x, ok := p.indexes.Get(key)
	if !ok {
		x = rights.IndexOf(rights.OfPerson(stored, name, roles), func(name string) *metapb.AccessPrincipal {
			if one := p.principals[name]; one.GetRole() {
				return one
			}
			return nil
		})
		p.indexes.Put(key, x, 1)
	}
	return x
}

// refuses reports whether a person must not sign in, because the user with this name is disabled or has expired.
func (p *people) refuses(name string, now time.Time) bool {
	stored := p.principals[name]
	until := stored.GetValidUntilUnixNano()
	return stored.GetDisabled() || until != 0 && now.UnixNano() >= until
}

// jsonWebToken returns the sender for a token of the OIDC provider. Errors are those of Verifier.Verify and Person, and
// RateLimited after too many invalid tokens from an address.
func (p *Provider) jsonWebToken(ctx context.Context, text string, from netip.Addr) (access.Sender, error) {
	if p.oidc == nil {
		return access.Sender{}, notOurToken()
	}
	name, who, err := p.oidc.Verify(ctx, text)
	if err != nil {
		if errs.From(err).Status() == http.StatusUnauthorized {
			// All tokens that are not valid count together, because an attacker can choose the names in them.
			if locked := p.lockedError(anyPerson, from); locked != nil {
				err = locked
			} else {
				p.countFailure(anyPerson, from)
			}
		}
		p.noteRefused(access.Sender{User: anyPerson, Proof: proofPerson}, from, err)
		return access.Sender{}, err
	}
	s, err := p.Person(name, who)
	p.noteRefused(access.Sender{User: name, Proof: proofPerson}, from, err)
	return s, err
}

// anyPerson is the name under which failures with tokens of the OIDC provider are counted. It is reserved.
const anyPerson = rights.PersonPrefix

// Person returns the sender for a person whom the OIDC provider has authenticated. The error is UserPasswordMismatch if
// the user of this name is disabled or what the provider said is too old, and PermissionDenied if the person has no
// rights.
func (p *Provider) Person(name string, who *access.Person) (access.Sender, error) {
	s := access.Sender{User: name, Proof: proofPerson, Version: access.StoredVersion, Person: who}
	users := p.users.Load()
	if err := users.checkCurrent(s, access.Need{Privilege: access.SignedIn}); err != nil {
		return access.Sender{}, err
	}
	return users.now(s), nil
}

// knownGroups returns those of the groups that a role has.
func (p *Provider) knownGroups(groups []string) (known []string) {
	byGroup := p.users.Load().people.byGroup
	for _, g := range groups {
		if byGroup[g] != nil && !slices.Contains(known, g) {
			known = append(known, g)
		}
	}
	return known
}

// checkPerson is checkCurrent for a person whom the OIDC provider has authenticated.
func (l *userList) checkPerson(s access.Sender, n access.Need) error {
	now := l.clock()
	switch {
	case !now.Before(s.Person.Until):
		return refuse(errs.UserPasswordMismatch, "the sign-in of "+shorten(s.User)+" has expired: sign in again, or get a "+
			"new token")
	case l.people.refuses(s.User, now):
		return refuse(errs.UserPasswordMismatch, "the user "+shorten(s.User)+" was disabled or has expired")
	}
	s.Grants = l.people.index(s.User, s.Person)
	switch {
	case !s.Grants.Admin() && len(s.Grants.Grants()) == 0:
		return errs.New(errs.PermissionDenied, "%s has no rights here: no role has one of the groups that the OIDC provider "+
			"names, and the user %[1]s has no grants; an administrator can change it: ALTER ROLE … SET GROUPS ('…')",
			shorten(s.User))
	case !s.May(n):
		return withdrawn(&s, n)
	}
	return nil
}

// SignInPerson returns the sender for a person who signs in with a browser, and the part of who that matters: groups
// that no role has are left out. It records a failure. err is the answer of the provider.
func (p *Provider) SignInPerson(name string, who *access.Person, from netip.Addr, err error) (
	access.Sender, *access.Person, error,
) {
	if err != nil {
		if errs.From(err).Status() == http.StatusUnauthorized {
			p.countFailure(anyPerson, from)
		}
		p.noteRefused(access.Sender{User: anyPerson, Proof: proofPerson}, from, err)
		return access.Sender{}, nil, err
	}
	s, err := p.Person(name, who)
	if err != nil {
		p.noteRefused(access.Sender{User: name, Proof: proofPerson}, from, err)
		return s, nil, err
	}
	return s, &access.Person{Groups: p.knownGroups(who.Groups), Until: who.Until}, nil
}
