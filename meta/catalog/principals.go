package catalog

import (
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// Limits of users, roles and grants.
const (
	MaxUsers             = 10_000
	MaxRoles             = 1_000
	MaxGrants            = 100_000
	MaxGrantsOfPrincipal = 1_000
	// MaxGrantsOfDelegate limits the grants of a user or role by one maker without the privilege ACCESS,
	// MaxDelegatedGrants those by all such makers, and MaxGrantsByDelegate those of all users by one such maker.
	MaxGrantsOfDelegate = rights.MaxGrantsOfDelegate
	MaxDelegatedGrants  = 500
	MaxGrantsByDelegate = rights.MaxGrantsByDelegate
	MaxRolesOfPrincipal = 100
	MaxPrincipalBytes   = 32 << 20 // of all of them
)

// Part of the format.
var (
	bucketPrincipals = []byte("principals")

	keyUsers  = []byte("users")
	keyRoles  = []byte("roles")
	keyGrants = []byte("grants")
)

// Principals holds the users and roles.
type Principals struct{ *store }

// PrincipalTotals counts the users, roles and grants.
type PrincipalTotals struct{ Users, Roles, Grants uint64 }

// Totals counts the users, roles and grants.
func (t Principals) Totals() PrincipalTotals {
	meta := t.tx.Bucket(bucketMeta)
	return PrincipalTotals{
		Users: number(meta.Get(keyUsers)), Roles: number(meta.Get(keyRoles)), Grants: number(meta.Get(keyGrants)),
	}
}

// Get returns the user or role of a name, or nil.
func (t Principals) Get(name string) (*metapb.AccessPrincipal, error) {
	p := &metapb.AccessPrincipal{}
	found, err := t.get(bucketPrincipals, []byte(name), p)
	if !found {
		return nil, err
	}
	return p, err
}

// All lists the users and roles by name.
func (t Principals) All() ([]*metapb.AccessPrincipal, error) {
	return list(t.tx.Bucket(bucketPrincipals), func() *metapb.AccessPrincipal { return &metapb.AccessPrincipal{} })
}

// Put stores a user or role, and replaces the one of the same name.
func (t Principals) Put(p *metapb.AccessPrincipal) error {
	old, err := t.Get(p.Name)
	if err != nil {
		return err
	}
	if old == nil {
		if _, err := t.count(kindKey(p), 1); err != nil {
			return err
		}
	}
	if more := len(p.Grants) - len(old.GetGrants()); more != 0 {
		if _, err := t.count(keyGrants, int64(more)); err != nil {
			return err
		}
	}
	return t.putMessage(bucketPrincipals, []byte(p.Name), p)
}

// Delete removes a user or role, which must exist.
func (t Principals) Delete(p *metapb.AccessPrincipal) error {
	if _, err := t.count(kindKey(p), -1); err != nil {
		return err
	}
	if _, err := t.count(keyGrants, -int64(len(p.Grants))); err != nil {
		return err
	}
	return t.delete(bucketPrincipals, []byte(p.Name))
}

func kindKey(p *metapb.AccessPrincipal) []byte {
	if p.Role {
		return keyRoles
	}
	return keyUsers
}
