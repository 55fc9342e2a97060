package meta

import (
	"bytes"
	"fmt"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file has the conditions of commands about users, and the list of what such a command takes away besides what it
// names.

// maxConditions bounds the conditions of one command.
const maxConditions = 100

// require returns an error if a user, role or token was changed since it was read.
func (s *principals) require(c *metapb.AccessCondition) error {
	var version []byte
	kind := "user or role"
	if c.Token {
		kind = "token"
		one, err := s.tokens.get(c.Name)
		if err != nil {
			return err
		}
		if one != nil {
			version = rights.VersionOfToken(one)
		}
	} else {
		p, err := s.user(c.Name)
		if err != nil {
			return err
		}
		if p != nil {
			version = rights.VersionOf(p)
		}
	}
	switch {
	case version == nil:
		return changedMeanwhile("The %s %q does not exist any more, so nothing was changed", kind, c.Name)
	case len(c.Version) > 0 && !bytes.Equal(c.Version, version):
		return changedMeanwhile("The %s %q was changed meanwhile, so nothing was changed: read it again", kind, c.Name)
	}
	return nil
}

func changedMeanwhile(format string, args ...any) error {
	return errs.New(errs.IllegalState, format, args...)
}

// maxConsequences bounds the list of what a command took away, in bytes.
const maxConsequences = 4 << 10

// consequences lists what a command takes away besides what it names.
type consequences struct {
	text strings.Builder
	more int
}

func (c *consequences) add(format string, args ...any) {
	one := fmt.Sprintf(format, args...)
	if c.more > 0 || c.text.Len()+len(one) > maxConsequences {
		c.more++
		return
	}
	if c.text.Len() > 0 {
		c.text.WriteString("; ")
	}
	c.text.WriteString(one)
}

func (c *consequences) grant(holder string, g *metapb.AccessGrant) {
	c.add("revoked %s ON %s from %s, granted by %s", rights.Set(g.Privileges), rights.FromProto(g).Target, holder,
		g.GrantedBy)
}

func (c *consequences) token(t *metapb.AccessToken) { c.add("dropped the token %s (%s)", t.Name, t.Id) }

func (c *consequences) String() string {
	if c.more > 0 {
		return fmt.Sprintf("%s; and %d more", c.text.String(), c.more)
	}
	return c.text.String()
}
