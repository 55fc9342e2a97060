package rights

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"
	"strings"

	"cordwood/proto/metapb"
)

// Users, roles and tokens have a version, by which a change can require that nobody has changed them meanwhile. It is a
// hash of what their statements can change. The metadata group computes it in each of its members, so what it covers
// is a part of the protocol.

// versionLen is the number of bytes of a version.
const versionLen = 12

// digest writes values to a hash so that different values never have the same bytes.
type digest struct{ hash.Hash }

func (d digest) number(n int64) {
	var buf [8]byte
	binary.LittleEndian.PutUint64(buf[:], uint64(n))
	_, _ = d.Write(buf[:]) // never fails
}

func (d digest) text(s string) {
	d.number(int64(len(s)))
	_, _ = d.Write([]byte(s)) // never fails
}

func (d digest) texts(list []string) {
	d.number(int64(len(list)))
	for _, s := range list {
		d.text(s)
	}
}

func (d digest) flag(is bool) {
	if is {
		d.number(1)
	} else {
		d.number(0)
	}
}

func (d digest) grants(list []*metapb.AccessGrant) {
	key := func(g *metapb.AccessGrant) string { return FromProto(g).Target.String() + "\x00" + g.GrantedBy }
	list = slices.SortedStableFunc(slices.Values(list), func(a, b *metapb.AccessGrant) int {
		return strings.Compare(key(a), key(b))
	})
	d.number(int64(len(list)))
	for _, g := range list {
		d.text(key(g))
		d.number(int64(g.Privileges))
		d.number(int64(g.Grantable))
	}
}

// VersionOf returns the version of a user or role. It does not depend on the order of grants and roles, nor on the
// password, but on when the password was changed.
func VersionOf(p *metapb.AccessPrincipal) []byte {
	d := digest{sha256.New()}
	d.text(p.Name)
	d.flag(p.Role)
	d.flag(p.Disabled)
	for _, n := range []int64{int64(p.PasswordVersion), p.ValidUntilUnixNano, p.CreatedUnixNano} {
		d.number(n)
	}
	d.texts(slices.Sorted(slices.Values(p.Roles)))
	d.grants(p.Grants)
	if len(p.Groups) > 0 || p.Certificate != "" { // programs that do not know them compute the same version without them
		d.texts(slices.Sorted(slices.Values(p.Groups)))
		d.text(p.Certificate)
	}
	if p.DefaultDatabase != "" { // likewise
		d.text("database")
		d.text(p.DefaultDatabase)
	}
	return d.Sum(nil)[:versionLen]
}

// VersionOfToken returns the version of a token. It does not depend on when the token was used.
func VersionOfToken(t *metapb.AccessToken) []byte {
	d := digest{sha256.New()}
	for _, s := range []string{t.Name, t.Id, string(t.Hash), string(t.OldHash), t.User, t.Note} {
		d.text(s)
	}
	for _, n := range []int64{t.OldUntilUnixNano, t.ExpiresUnixNano, t.CreatedUnixNano} {
		d.number(n)
	}
	d.flag(t.IngestOnly)
	d.texts(t.From)
	d.grants(t.Grants)
	return d.Sum(nil)[:versionLen]
}

// SecretVersion distinguishes the secrets of a token by their hashes.
func SecretVersion(hash []byte) uint64 {
	if len(hash) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(hash)
}
