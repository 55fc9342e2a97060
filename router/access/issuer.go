package access

import (
	"cordwood/proto/metapb"
)

// Issuer returns what the metadata group needs to check the rights of the sender again when it applies a command of
// theirs. needs are what the command needs. It returns nil for senders whose rights are not in the metadata: users of
// the list of users of a router, and all if authentication is off.
func (s *Sender) Issuer(needs ...Need) *metapb.Issuer {
	if s.Grants == nil {
		return nil
	}
	i := &metapb.Issuer{Principal: s.User}
	switch {
	case s.Token != "":
		i.Token, i.TokenId, i.TokenVersion = s.TokenName, s.Token, s.Version
	case s.Person != nil:
		i.Groups = s.Person.Groups
	default:
		i.PasswordVersion, i.Certificate = s.Version&^StoredVersion, s.Certificate
	}
	for _, n := range needs {
		if in, ok := n.inGrants(); ok {
			i.Needs = append(i.Needs, &metapb.IssuerNeed{
				Kind: uint32(in.Kind), Database: in.Database, Name: in.Name, Privileges: uint32(in.Privileges),
			})
		}
	}
	return i
}
