package meta

import (
	"slices"

	"cordwood/meta/catalog"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file separates what a dropped user has left from a later user of the same name.

// droppedMark follows the name of a dropped user where it stays as a creator. No user can have such a name.
const droppedMark = " (dropped)"

// forget notes that a user is dropped. Tokens that the user created keep their rights, but belong to nobody who could
// get the same name. A person of an OIDC provider remains the same one.
func (s *principals) forget(user string) error {
	if s.tx.ClusterVersion() < metapb.ProtocolForget || rights.IsPerson(user) {
		return nil
	}
	s.forgotten = append(s.forgotten, user)
	for _, name := range s.tokens.of(user) {
		one, err := s.tokens.get(name)
		if err != nil {
			return err
		}
		if one != nil && one.CreatedBy == user {
			one.CreatedBy = user + droppedMark
		}
	}
	return nil
}

// forgetSaved removes the private values of dropped users, and takes their shared values from everybody who could get
// the same name.
func forgetSaved(tx *catalog.Tx, users []string) error {
	if len(users) == 0 {
		return nil
	}
	all, err := tx.Saved.From("", nil, catalog.MaxSaved+1)
	if err != nil {
		return err
	}
	for _, one := range all {
		switch {
		case !slices.Contains(users, one.Owner):
			continue
		case one.Shared:
			one.Owner += droppedMark
			err = tx.Saved.Touch(one)
		default:
			err = tx.Saved.Delete(one)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
