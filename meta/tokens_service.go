package meta

import (
	"crypto/sha256"
	"net/netip"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file prepares commands about tokens. Routers check whether a sender may make the changes.

const (
	// maxTokenGrants and maxTokenRanges bound the rights and the address ranges of a token.
	maxTokenGrants = 100
	maxTokenRanges = 32
	// maxTokenNote bounds the length of a note in bytes.
	maxTokenNote = 256
	// maxTokenUses bounds the uses of one command.
	maxTokenUses = 10_000
	// maxUsedAddress bounds the length of an address in bytes.
	maxUsedAddress = 64
)

func checkTokenChange(c *metapb.AccessChange) error {
	switch c := c.GetChange().(type) {
	case *metapb.AccessChange_CreateToken:
		return checkToken(c.CreateToken.GetToken())
	case *metapb.AccessChange_AlterToken:
		a := c.AlterToken
		if a.Hash != nil && len(a.Hash) != sha256.Size {
			return errs.New(errs.InvalidArguments, "Alter token %s: the hash is not valid", a.Name)
		}
		if err := checkTokenTexts(a.GetNote(), a.From); err != nil {
			return err
		}
		return rights.CheckTokenName(a.GetName())
	case *metapb.AccessChange_DropToken:
		return nil
	}
	return errs.New(errs.InvalidArguments, "Change access: a change is empty")
}

func checkToken(t *metapb.AccessToken) error {
	if len(t.GetHash()) != sha256.Size || t.GetId() == "" || len(t.GetId()) > maxUsedAddress {
		return errs.New(errs.InvalidArguments, "Create token %s: the id or the hash is not valid", t.GetName())
	}
	switch n := len(t.GetGrants()); {
	case n > maxTokenGrants:
		return errs.New(errs.InvalidArguments, "Create token %s: %d grants; at most %d are possible", t.GetName(), n,
			maxTokenGrants)
	case (n == 0) == (t.GetUser() == ""):
		return errs.New(errs.InvalidArguments, "Create token %s: a token has either a scope or a user", t.GetName())
	}
	for _, g := range t.Grants {
		one := rights.FromProto(g)
		if one.Grantable != 0 {
			return errs.New(errs.InvalidArguments, "Create token %s: a token cannot have the grant option", t.GetName())
		}
		if err := one.Check(one.Privileges); err != nil {
			return err
		}
	}
	if err := checkTokenTexts(t.GetNote(), t.From); err != nil {
		return err
	}
	return rights.CheckTokenName(t.GetName())
}

func checkTokenTexts(note string, from []string) error {
	if len(note) > maxTokenNote {
		return errs.New(errs.InvalidArguments, "the note of a token has %d bytes; at most %d are allowed", len(note),
			maxTokenNote)
	}
	if len(from) > maxTokenRanges {
		return errs.New(errs.InvalidArguments, "a token would have %d address ranges; at most %d are allowed", len(from),
			maxTokenRanges)
	}
	for _, text := range from {
		if _, err := netip.ParsePrefix(text); err != nil {
			return errs.New(errs.InvalidArguments, "FROM %.60q: write address ranges such as '192.0.2.0/24' or '2001:db8::/32'",
				text)
		}
	}
	return nil
}

func prepareTouchTokens(cmd *metapb.TouchTokens) error {
	if n := len(cmd.GetUses()); n == 0 || n > maxTokenUses {
		return errs.New(errs.InvalidArguments, "Touch tokens: %d uses; 1 to %d are possible in one command", n, maxTokenUses)
	}
	for _, u := range cmd.Uses {
		if len(u.Address) > maxUsedAddress {
			return errs.New(errs.InvalidArguments, "Touch tokens: an address has %d bytes", len(u.Address))
		}
	}
	return nil
}
