package meta

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// A router checks the rights of a principal before it proposes a command. Until the command is applied, the principal
// can lose them. So a command carries its issuer, and is checked again with the state before the command, by the rules
// that routers use.

// maxIssuer is the maximum size of an issuer, in bytes.
const maxIssuer = 64 << 10

// prepareIssuer removes the issuer if older members would not know it, and from commands of ingestion, which are
// combined.
func prepareIssuer(cmd *metapb.Command, version uint32) error {
	if version < metapb.ProtocolIssuer || cmd.GetEnsureSchema() != nil {
		cmd.Issuer = nil
	}
	if n := proto.Size(cmd.GetIssuer()); n > maxIssuer {
		return errs.New(errs.InvalidArguments, "%s: the description of its user has %d bytes; at most %d are possible",
			opName(cmd), n, maxIssuer)
	}
	return nil
}

// checkIssuer returns an error if the issuer of a command may not make it any more.
func checkIssuer(tx *catalog.Tx, cmd *metapb.Command) error {
	if cmd.GetIssuer() == nil {
		return nil
	}
	r := &issuerReader{tx: tx}
	a, err := r.authority(cmd.Issuer, cmd.TimeUnixNano)
	if err == nil {
		err = checkNeeds(a, cmd)
	}
	if r.failed != nil {
		return r.failed
	}
	if err != nil {
		return errs.New(errs.AccessDenied, "the rights of %s were changed meanwhile, so nothing was changed: %s",
			cmd.Issuer.Principal, err)
	}
	return nil
}

// checkNeeds returns an error if a principal may not make a command.
func checkNeeds(a *rights.Authority, cmd *metapb.Command) error {
	for _, n := range cmd.Issuer.Needs {
		need := rights.Need{
			Kind: rights.Kind(n.Kind), Database: n.Database, Name: n.Name, Privileges: rights.Set(n.Privileges),
		}
		if !a.Index.Allows(need) {
			on := rights.Target{Kind: need.Kind, Database: need.Database, Name: need.Name}
			return errs.New(errs.AccessDenied, "that needs %s on %s", need.Privileges, on)
		}
	}
	for _, c := range cmd.GetChangeAccess().GetChanges() {
		if err := a.Check(c); err != nil {
			return err
		}
	}
	return nil
}

// issuerReader reads users, roles and tokens. failed is the first failure to do so.
type issuerReader struct {
	tx     *catalog.Tx
	failed error
}

func (r *issuerReader) fail(err error) {
	if r.failed == nil {
		r.failed = err
	}
}

func (r *issuerReader) user(name string) *metapb.AccessPrincipal {
	p, err := r.tx.Principals.Get(name)
	r.fail(err)
	return p
}

func (r *issuerReader) token(name string) *metapb.AccessToken {
	t, err := r.tx.Tokens.Get(name)
	r.fail(err)
	return t
}

// authority returns what the issuer of a command may do. now is the time of the command.
func (r *issuerReader) authority(i *metapb.Issuer, now int64) (*rights.Authority, error) {
	a := &rights.Authority{User: i.Principal, Token: i.TokenId != "", Find: r.user, FindToken: r.token}
	p := r.user(i.Principal)
	if i.TokenId != "" {
		t := r.token(i.Token)
		if !accepted(t, i, now) {
			return nil, errs.New(errs.AccessDenied, "the token was dropped or rotated, or has expired")
		}
		if t.User == "" {
			a.IngestOnly = t.IngestOnly
			a.Index = rights.IndexOf(&metapb.AccessPrincipal{Grants: t.Grants}, r.user)
			return a, nil
		}
	}
	person := rights.IsPerson(i.Principal)
	switch {
	case p == nil && !person, p.GetRole():
		return nil, errs.New(errs.AccessDenied, "the user was dropped")
	case p.GetDisabled():
		return nil, errs.New(errs.AccessDenied, "the user was disabled")
	case p.GetValidUntilUnixNano() != 0 && p.GetValidUntilUnixNano() <= now:
		return nil, errs.New(errs.AccessDenied, "the time of the user has ended")
	case i.TokenId == "" && !person && p.PasswordVersion != i.PasswordVersion:
		return nil, errs.New(errs.AccessDenied, "the password was changed")
	case i.Certificate != "" && p.GetCertificate() != i.Certificate &&
		(p.GetCertificate() != "" || i.Principal != i.Certificate):
		return nil, errs.New(errs.AccessDenied, "the name in the certificate was changed")
	}
	if person && i.TokenId == "" {
		all, err := r.tx.Principals.All()
		if err != nil {
			r.fail(err)
			return nil, err
		}
		p = rights.OfPerson(p, i.Principal, rights.RolesOfGroups(slices.Values(all), i.Groups))
	}
	a.Index = rights.IndexOf(p, r.user)
	return a, nil
}

// accepted reports whether the token of an issuer is still accepted. t is the stored token of its name, or nil.
func accepted(t *metapb.AccessToken, i *metapb.Issuer, now int64) bool {
	ends := func(at int64) bool { return at != 0 && at <= now }
	switch {
	case t == nil || t.Id != i.TokenId || ends(t.ExpiresUnixNano):
		return false
	case t.User != "" && t.User != i.Principal:
		return false
	case rights.SecretVersion(t.Hash) == i.TokenVersion:
		return true
	}
	return rights.SecretVersion(t.OldHash) == i.TokenVersion && t.OldUntilUnixNano > now
}
