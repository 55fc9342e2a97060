package catalog

import (
	"bytes"
	"strings"

	"cordwood/proto/metapb"
)

// Limits of tokens.
const (
	MaxTokens       = 100_000
	MaxTokensOfUser = 100      // that have the rights of one user
	MaxTokenBytes   = 32 << 20 // of all of them
	// MaxTokenBytesOfCreator limits the tokens of a creator without the privilege ACCESS.
	MaxTokenBytesOfCreator = 1 << 20
)

// Part of the format.
var (
	bucketTokens = []byte("tokens")
	// bucketTokenUses finds the tokens of a user, of a creator and of a database.
	bucketTokenUses = []byte("token_uses")

	keyTokens     = []byte("tokens")
	keyTokenBytes = []byte("token_bytes")
)

// The kinds of keys in bucketTokenUses; part of the format.
const (
	ofUser     = 'u'
	ofCreator  = 'c'
	ofDatabase = 'd'
)

// Tokens holds the tokens.
type Tokens struct{ *store }

// TokenTotals counts the tokens, and their bytes.
type TokenTotals struct{ Count, Bytes uint64 }

// Totals counts the tokens.
func (t Tokens) Totals() TokenTotals {
	meta := t.tx.Bucket(bucketMeta)
	return TokenTotals{Count: number(meta.Get(keyTokens)), Bytes: number(meta.Get(keyTokenBytes))}
}

// Get returns the token of a name, or nil.
func (t Tokens) Get(name string) (*metapb.AccessToken, error) {
	one := &metapb.AccessToken{}
	found, err := t.get(bucketTokens, []byte(name), one)
	if !found {
		return nil, err
	}
	return one, err
}

// All lists the tokens by name.
func (t Tokens) All() ([]*metapb.AccessToken, error) {
	return list(t.tx.Bucket(bucketTokens), func() *metapb.AccessToken { return &metapb.AccessToken{} })
}

// OfUser lists the names of the tokens that have the rights of a user.
func (t Tokens) OfUser(user string) []string { return t.names(ofUser, user) }

// OfCreator lists the names of the tokens that a user created.
func (t Tokens) OfCreator(user string) []string { return t.names(ofCreator, user) }

// OfDatabase lists the names of the tokens with a right on a database that is named without a wildcard.
func (t Tokens) OfDatabase(database string) []string { return t.names(ofDatabase, database) }

func (t Tokens) names(kind byte, of string) (out []string) {
	b := t.tx.Bucket(bucketTokenUses)
	if b == nil {
		return nil
	}
	prefix := tokenUse(kind, of, "")
	cur := b.Cursor()
	for k, _ := cur.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = cur.Next() {
		out = append(out, string(k[len(prefix):]))
	}
	return out
}

func tokenUse(kind byte, of, name string) []byte {
	return append(append(append([]byte{kind}, of...), 0), name...)
}

// usesOf returns the keys of a token in bucketTokenUses.
func usesOf(one *metapb.AccessToken) (keys [][]byte) {
	if one.User != "" {
		keys = append(keys, tokenUse(ofUser, one.User, one.Name))
	}
	keys = append(keys, tokenUse(ofCreator, one.CreatedBy, one.Name))
	for _, g := range one.Grants {
		if g.Database != "" && !strings.HasSuffix(g.Database, "*") {
			keys = append(keys, tokenUse(ofDatabase, g.Database, one.Name))
		}
	}
	return keys
}

// Put stores a token, and replaces the one of the same name.
func (t Tokens) Put(one *metapb.AccessToken) error {
	if err := t.Delete(one.Name); err != nil {
		return err
	}
	if err := t.putMessage(bucketTokens, []byte(one.Name), one); err != nil {
		return err
	}
	for _, key := range usesOf(one) {
		if err := t.put(bucketTokenUses, key, []byte{1}); err != nil {
			return err
		}
	}
	return t.countToken(one.Name, 1)
}

// Delete removes the token of a name, if there is one.
func (t Tokens) Delete(name string) error {
	old, err := t.Get(name)
	if old == nil {
		return err
	}
	if err := t.countToken(name, -1); err != nil {
		return err
	}
	for _, key := range usesOf(old) {
		if b := t.tx.Bucket(bucketTokenUses); b.Get(key) == nil {
			continue // two grants name one database
		}
		if err := t.delete(bucketTokenUses, key); err != nil {
			return err
		}
	}
	return t.delete(bucketTokens, []byte(name))
}

// countToken adds the stored token of a name to the totals, or removes it from them.
func (t Tokens) countToken(name string, sign int64) error {
	if _, err := t.count(keyTokens, sign); err != nil {
		return err
	}
	_, err := t.count(keyTokenBytes, sign*int64(len(t.tx.Bucket(bucketTokens).Get([]byte(name)))))
	return err
}
