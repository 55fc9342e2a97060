package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/rights"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// tokens has the tokens of the metadata. Look-ups take no lock that changes hold.
type tokens struct {
	byID sync.Map // from the id to *oneToken

	mu   sync.Mutex // guards used
	used map[string]*metapb.TokenUse
}

// oneToken is a token of the metadata. It does not change.
type oneToken struct {
	stored *metapb.AccessToken
	from   []netip.Prefix
	// index returns the index of the scope. Most routers never need most tokens.
	index func() *rights.Index
	fixed access.Fixed
}

func newToken(stored *metapb.AccessToken) *oneToken {
	t := &oneToken{stored: stored}
	for _, text := range stored.From {
		if p, err := token.ParseRange(text); err == nil {
			t.from = append(t.from, p)
		} else { // never happens, because the metadata group checks it; no address belongs to such a range
			t.from = append(t.from, netip.Prefix{})
		}
	}
	if stored.User != "" {
		return t
	}
	grants := make([]rights.Grant, len(stored.Grants))
	for i, g := range stored.Grants {
		grants[i] = rights.FromProto(g)
	}
	t.fixed = fixedOf(grants)
	t.index = sync.OnceValue(func() *rights.Index { return rights.NewIndex(grants, nil) })
	return t
}

// fixedOf returns the database, table and pipeline that all grants have, if they are without a wildcard.
func fixedOf(grants []rights.Grant) (f access.Fixed) {
	one := func(kind rights.Kind, name func(rights.Grant) string) string {
		found := ""
		for _, g := range grants {
			switch n := name(g); {
			case g.Kind != kind:
			case strings.HasSuffix(n, "*"), found != "" && n != found:
				return ""
			default:
				found = n
			}
		}
		return found
	}
	f.Database = one(rights.Tables, func(g rights.Grant) string { return g.Database })
	f.Pipeline = one(rights.Pipelines, func(g rights.Grant) string { return g.Name })
	if f.Database != "" {
		f.Table = one(rights.Tables, func(g rights.Grant) string { return g.Name })
	}
	return f
}

// apply puts changes of tokens into effect.
func (t *tokens) apply(c metaclient.AccessChanges) {
	if c.Whole {
		keep := make(map[string]bool, len(c.Tokens))
		for _, one := range c.Tokens {
			keep[one.Id] = true
		}
		t.byID.Range(func(id, _ any) bool {
			if !keep[id.(string)] {
				t.byID.Delete(id)
			}
			return true
		})
	}
	for _, id := range c.DroppedTokens {
		t.byID.Delete(id)
	}
	for _, one := range c.Tokens {
		t.byID.Store(one.Id, newToken(one))
	}
}

func (t *tokens) find(id string) *oneToken {
	if one, ok := t.byID.Load(id); ok {
		return one.(*oneToken)
	}
	return nil
}

// any reports whether there are tokens.
func (t *tokens) any() (found bool) {
	t.byID.Range(func(_, _ any) bool {
		found = true
		return false
	})
	return found
}

// Token returns the sender of a token. Errors are UserPasswordMismatch, InvalidAuthHeader for a text that is not a
// token, PermissionDenied for an address from which the token may not be used, and RateLimited after too
// many unknown tokens from an address.
func (p *Provider) Token(text string, from netip.Addr) (access.Sender, error) {
	s, err := p.byToken(text, from)
	if err != nil {
		id, _ := token.Parse(text)
		p.noteRefused(access.Sender{User: anyToken, Token: id, Proof: "token"}, from, err)
	}
	return s, err
}

func (p *Provider) byToken(text string, from netip.Addr) (access.Sender, error) {
	id, ok := token.Parse(text)
	if !ok {
		return access.Sender{}, refuse(errs.InvalidAuthHeader,
			"Invalid authorization header: a token has the form cw_ID_SECRET, and this one was changed or cut")
	}
	hash := token.Hash(text)
	s, err := p.tokenSender(id, hash)
	if err != nil {
		// All tokens that are not valid count together, because an attacker can choose the ids.
		if locked := p.lockedError(anyToken, from); locked != nil {
			return access.Sender{}, locked
		}
		p.countFailure(anyToken, from)
		return access.Sender{}, err
	}
	return p.admit(s, from)
}

// admit returns the sender of a known token with its current rights, if the token is valid now and at the address.
func (p *Provider) admit(s access.Sender, from netip.Addr) (access.Sender, error) {
	s.TokenFrom = from.Unmap().WithZone("")
	if err := p.users.Load().checkCurrent(s, access.Need{Privilege: access.SignedIn}); err != nil {
		return access.Sender{}, err
	}
	p.tokens.note(s.Token, s.TokenFrom, p.now())
	return p.Current(s), nil
}

// TokenSession returns the sender for a token that somebody signed in with earlier. from is the client's address. check
// receives the hashes of the token's secrets, and reports whether one is the secret of the sign-in. The error is
// UserPasswordMismatch if the token was dropped, was rotated or has expired, and PermissionDenied for an address from
// which the token may not be used.
func (p *Provider) TokenSession(id string, from netip.Addr, check func(stored [sha256.Size]byte) bool) (
	access.Sender, error,
) {
	t := p.tokens.find(id)
	if t == nil {
		return access.Sender{}, notValid(id)
	}
	for _, stored := range [...][]byte{t.stored.Hash, t.stored.OldHash} {
		if len(stored) == sha256.Size && check([sha256.Size]byte(stored)) {
			return p.admit(t.sender(stored), from)
		}
	}
	return access.Sender{}, notValid(id)
}

// anyToken is the name under which failures with tokens are counted. It is reserved, so no user has it.
const anyToken = "token"

// tokenSender returns the sender of the token with an id and a hash. The rights of a token with a user are set by
// Current.
func (p *Provider) tokenSender(id string, hash [sha256.Size]byte) (access.Sender, error) {
	t := p.tokens.find(id)
	if t == nil {
		return access.Sender{}, notValid(id)
	}
	now := subtle.ConstantTimeCompare(hash[:], t.stored.Hash) == 1
	old := subtle.ConstantTimeCompare(hash[:], t.stored.OldHash) == 1
	if !now && !old {
		return access.Sender{}, notValid(id)
	}
	return t.sender(hash[:]), nil
}

// sender returns the sender of the token with the hash of one of its secrets.
func (t *oneToken) sender(hash []byte) access.Sender {
	s := access.Sender{
		User: t.stored.User, Proof: "token", Version: rights.SecretVersion(hash), Token: t.stored.Id,
		TokenName: t.stored.Name, IngestOnly: t.stored.IngestOnly, Fixed: t.fixed,
	}
	if s.User == "" {
		s.User, s.Grants = token.Name(t.stored.Id), t.index()
	}
	return s
}

func notValid(id string) error {
	return refuse(errs.UserPasswordMismatch, "Token "+token.Name(id)+" is not valid: unknown, revoked or expired")
}

// checkToken returns an error if the token of s is not valid any more, or not at the sender's address.
func (t *tokens) check(s *access.Sender, now time.Time) error {
	one := t.find(s.Token)
	if one == nil {
		return notValid(s.Token)
	}
	expires := one.stored.ExpiresUnixNano
	switch s.Version {
	case rights.SecretVersion(one.stored.Hash):
	case rights.SecretVersion(one.stored.OldHash):
		if old := one.stored.OldUntilUnixNano; expires == 0 || old < expires {
			expires = max(old, 1)
		}
	default:
		return notValid(s.Token)
	}
	if expires != 0 && now.UnixNano() >= expires {
		return notValid(s.Token)
	}
	if len(one.from) > 0 && !slices.ContainsFunc(one.from, func(p netip.Prefix) bool { return p.Contains(s.TokenFrom) }) {
		return errs.New(errs.PermissionDenied, "Token %s may not be used from %s", token.Name(s.Token), s.TokenFrom)
	}
	return nil
}

// maxUsed bounds the uses that are kept until they are reported.
const maxUsed = 10_000

// note notes that a token was used, in whole hours.
func (t *tokens) note(id string, from netip.Addr, at time.Time) {
	hour := at.Truncate(time.Hour).UnixNano()
	one := t.find(id)
	if one == nil || one.stored.UsedUnixNano >= hour {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if had := t.used[id]; had != nil && had.UsedUnixNano >= hour || len(t.used) >= maxUsed {
		return
	}
	if t.used == nil {
		t.used = map[string]*metapb.TokenUse{}
	}
	t.used[id] = &metapb.TokenUse{Name: one.stored.Name, Id: id, UsedUnixNano: hour, Address: from.String()}
}

// TokenUses returns when tokens were used since the last call.
func (p *Provider) TokenUses() []*metapb.TokenUse {
	p.tokens.mu.Lock()
	defer p.tokens.mu.Unlock()
	out := slices.Collect(maps.Values(p.tokens.used))
	p.tokens.used = nil
	return out
}

// StoredTokens lists the tokens of the metadata by name. They must not be changed.
func (p *Provider) StoredTokens() (out []*metapb.AccessToken) {
	p.tokens.byID.Range(func(_, one any) bool {
		out = append(out, one.(*oneToken).stored)
		return true
	})
	slices.SortFunc(out, func(a, b *metapb.AccessToken) int { return strings.Compare(a.Name, b.Name) })
	return out
}
