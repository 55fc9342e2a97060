package meta

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
)

// This file applies commands about tokens.

// tokens is the state of the tokens that a command changes. Nothing is written before all changes have been made.
type tokens struct {
	tx *catalog.Tx
	// now and before have the tokens that were read, by name. A token that does not exist is nil.
	now, before map[string]*metapb.AccessToken
}

func newTokens(tx *catalog.Tx) *tokens {
	return &tokens{tx: tx, now: map[string]*metapb.AccessToken{}, before: map[string]*metapb.AccessToken{}}
}

// get returns the token of a name as it is after the changes so far, or nil.
func (t *tokens) get(name string) (*metapb.AccessToken, error) {
	if one, known := t.now[name]; known {
		return one, nil
	}
	one, err := t.tx.Tokens.Get(name)
	if err != nil {
		return nil, err
	}
	t.before[name], t.now[name] = one, proto.CloneOf(one)
	return t.now[name], nil
}

// create adds a token. user returns a user, or nil.
func (t *tokens) create(
	c *metapb.CreateToken, actor string, now int64, user func(name string) (*metapb.AccessPrincipal, error),
) error {
	one := proto.CloneOf(c.Token)
	had, err := t.get(one.Name)
	if err != nil {
		return err
	}
	if had != nil {
		return errs.New(errs.InvalidArguments, "There is a token %q already: choose another name, or ALTER TOKEN … ROTATE",
			one.Name)
	}
	if one.User != "" {
		owner, err := user(one.User)
		if err != nil {
			return err
		}
		if owner == nil || owner.Role {
			return errs.New(errs.InvalidArguments, "There is no user %q in the metadata, so no token can have the user's rights",
				one.User)
		}
		if n := t.count(t.tx.Tokens.OfUser(one.User), func(x *metapb.AccessToken) bool { return x.User == one.User }); n >=
			catalog.MaxTokensOfUser {
			return errs.New(errs.InvalidArguments, "%s has %d tokens, the maximum: drop one first", one.User, n)
		}
	}
	if c.MostOfCreator > 0 {
		if err := t.checkCreator(one, actor, int(c.MostOfCreator)); err != nil {
			return err
		}
	}
	one.CreatedBy, one.CreatedUnixNano = actor, now
	one.OldHash, one.OldUntilUnixNano, one.UsedUnixNano, one.UsedAddress = nil, 0, 0, ""
	t.now[one.Name] = one
	return nil
}

// checkCreator returns an error if a creator without the privilege ACCESS has too many tokens for another one.
func (t *tokens) checkCreator(one *metapb.AccessToken, actor string, most int) error {
	stored := t.tx.Tokens.OfCreator(actor)
	if n := t.count(stored, func(x *metapb.AccessToken) bool { return x.CreatedBy == actor }); n >= most {
		return errs.New(errs.InvalidArguments, "%s has created %d tokens, the maximum without the privilege ACCESS: drop "+
			"one first", actor, n)
	}
	size := proto.Size(one)
	for _, name := range stored {
		had, err := t.tx.Tokens.Get(name)
		if err != nil {
			return err
		}
		size += proto.Size(had)
	}
	for name, now := range t.now {
		if t.before[name] == nil && now.GetCreatedBy() == actor {
			size += proto.Size(now)
		}
	}
	if size > catalog.MaxTokenBytesOfCreator {
		return errs.New(errs.InvalidArguments, "The tokens that %s has created would have %d bytes; at most %d are allowed "+
			"without the privilege ACCESS: drop one first, or give it fewer rights", actor, size, catalog.MaxTokenBytesOfCreator)
	}
	return nil
}

// count counts the stored tokens of the given names and the new ones for which is returns true.
func (t *tokens) count(stored []string, is func(*metapb.AccessToken) bool) (n int) {
	for _, name := range stored {
		if now, known := t.now[name]; !known || now != nil {
			n++
		}
	}
	for name, now := range t.now {
		if t.before[name] == nil && now != nil && is(now) {
			n++
		}
	}
	return n
}

// edit returns the token of a name that a command changes. id is the id that it must have; "" means any.
func (t *tokens) edit(name, id string) (*metapb.AccessToken, error) {
	one, err := t.get(name)
	switch {
	case err != nil:
		return nil, err
	case one == nil:
		return nil, errs.New(errs.InvalidArguments, "There is no token %q", name)
	case id != "" && one.Id != id:
		return nil, errs.New(errs.IllegalState, "The token %q was replaced meanwhile: look at it again", name)
	}
	return one, nil
}

func (t *tokens) alter(c *metapb.AlterToken) error {
	one, err := t.edit(c.Name, c.Id)
	if err != nil {
		return err
	}
	if c.Hash != nil {
		one.OldHash, one.OldUntilUnixNano, one.Hash = one.Hash, c.OldUntilUnixNano, c.Hash
	}
	if c.ExpiresUnixNano != nil {
		one.ExpiresUnixNano = *c.ExpiresUnixNano
	}
	if c.Note != nil {
		one.Note = *c.Note
	}
	if c.SetFrom {
		one.From = c.From
	}
	return nil
}

// drop removes a token. It returns whether there was one.
func (t *tokens) drop(c *metapb.DropToken) (bool, error) {
	if one, err := t.get(c.Name); err != nil || one == nil && c.IfExists {
		return false, err
	}
	if _, err := t.edit(c.Name, c.Id); err != nil {
		return false, err
	}
	t.now[c.Name] = nil
	return true, nil
}

// dropUser removes the tokens that have the rights of a user.
func (t *tokens) dropUser(user string, also *consequences) error {
	for _, name := range t.tx.Tokens.OfUser(user) {
		if _, err := t.get(name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.now)) {
		if one := t.now[name]; one != nil && one.User == user {
			t.now[name] = nil
			also.token(one)
		}
	}
	return nil
}

// check checks the number and the size of all tokens after all changes. Only new tokens are refused: a token can always
// be rotated.
func (t *tokens) check() error {
	totals := t.tx.Tokens.Totals()
	count, size := int64(totals.Count), int64(totals.Bytes)
	created := false
	for name, now := range t.now {
		if old := t.before[name]; old != nil {
			count, size = count-1, size-int64(proto.Size(old))
		}
		if now != nil {
			count, size = count+1, size+int64(proto.Size(now))
			created = created || t.before[name].GetId() != now.Id
		}
	}
	if created && (count > catalog.MaxTokens || size > catalog.MaxTokenBytes) {
		return errs.New(errs.InvalidArguments, "There would be %d tokens of %d bytes; at most %d of %d bytes are allowed: "+
			"drop some", count, size, catalog.MaxTokens, catalog.MaxTokenBytes)
	}
	return nil
}

// write stores what was changed.
func (t *tokens) write(c *change) error {
	for _, name := range slices.Sorted(maps.Keys(t.now)) {
		now, old := t.now[name], t.before[name]
		if old != nil && (now == nil || now.Id != old.Id) {
			if err := t.tx.Tokens.Delete(name); err != nil {
				return err
			}
			c.DroppedTokens = append(c.DroppedTokens, old.Id)
		}
		if now != nil && !proto.Equal(now, old) {
			if err := t.tx.Tokens.Put(now); err != nil {
				return err
			}
			c.Tokens = append(c.Tokens, now)
		}
	}
	return nil
}

// dropTokensIn takes the rights on a database that is dropped from tokens, unless their pattern of databases has a
// wildcard. Tokens that have no other rights, or only may use pipelines, are dropped.
func dropTokensIn(tx *catalog.Tx, database string, c *change, also *consequences) error {
	t := newTokens(tx)
	onTable := func(g *metapb.AccessGrant) bool { return rights.Kind(g.Kind) == rights.Tables }
	for _, name := range tx.Tokens.OfDatabase(database) {
		one, err := t.get(name)
		if err != nil {
			return err
		}
		one.Grants = slices.DeleteFunc(one.Grants, func(g *metapb.AccessGrant) bool {
			return onTable(g) && g.Database == database
		})
		if !slices.ContainsFunc(one.Grants, func(g *metapb.AccessGrant) bool {
			return onTable(g) || rights.Set(g.Privileges)&^rights.Use != 0
		}) {
			t.now[name] = nil
			also.token(one)
		}
	}
	return t.write(c)
}

// applyTouchTokens records when tokens were used. It changes only tokens that were used later than recorded.
func applyTouchTokens(tx *catalog.Tx, cmd *metapb.TouchTokens, c *change) (*metapb.Result, error) {
	t := newTokens(tx)
	for _, use := range cmd.Uses {
		one, err := t.get(use.Name)
		if err != nil {
			return nil, err
		}
		if one == nil || one.Id != use.Id || one.UsedUnixNano >= use.UsedUnixNano {
			continue
		}
		one.UsedUnixNano, one.UsedAddress = use.UsedUnixNano, strings.Clone(use.Address)
	}
	return &metapb.Result{}, t.write(c)
}
