package meta

import (
	"maps"
	"slices"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file ends tokens whose creators lose the authority to create them.

// dependentTokens drops tokens that their creators may not create any more. If there are any and cascade is not set, it
// refuses the command. before and now are the supported grants. It ignores tokens that had lost their creator's
// authority before the command, and tokens of creators who are not stored: such as users of a user file, and users who
// were dropped.
func (s *principals) dependentTokens(cascade bool, before, now map[grantKey]bool) error {
	for _, creator := range slices.Sorted(maps.Keys(s.byName)) {
		if s.before[creator] == nil || s.byName[creator].Role {
			continue
		}
		names := s.tokens.of(creator)
		if len(names) == 0 {
			continue
		}
		had, has := indexBy(s.before, creator, before), indexBy(s.byName, creator, now)
		if had.Admin() == has.Admin() && slices.Equal(had.Grants(), has.Grants()) {
			continue
		}
		for _, name := range names {
			one, err := s.tokens.get(name)
			if err != nil {
				return err
			}
			if one == nil || mayCreate(has, one) || !mayCreate(had, one) {
				continue
			}
			if !cascade {
				return errs.New(errs.InvalidArguments, "%s has created the token %s with this privilege: use CASCADE to drop "+
					"it too", creator, name)
			}
			s.tokens.now[name] = nil
			s.also.token(one)
			s.changes++
		}
	}
	return nil
}

// of lists the names of the tokens that a user created, also in this command.
func (t *tokens) of(creator string) []string {
	names := t.tx.Tokens.OfCreator(creator)
	for name, one := range t.now {
		if t.before[name] == nil && one.GetCreatedBy() == creator {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mayCreate reports whether the holder of an index may create a token: by the grant option or ACCESS for all of its
// scope. The use of a pipeline is enough to hand it on. Nobody needs a right for tokens FOR USER of themselves.
func mayCreate(x *rights.Index, t *metapb.AccessToken) bool {
	if t.User != "" {
		return t.User == t.CreatedBy || x.Admin() || x.OnCluster()&rights.Access != 0
	}
	return (&rights.Authority{User: t.CreatedBy, Index: x}).MayScope(t.Grants) == nil
}
