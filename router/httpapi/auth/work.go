package auth

import (
	"slices"
	"sync"

	"cordwood/proto/errs"
	"cordwood/router/access"
	"cordwood/router/access/token"
)

// openWork has all work in progress. It ends work when the sender loses the right to it.
type openWork struct {
	mu  sync.Mutex // guards the fields below, and the needs and the end of each Work
	all map[*Work]struct{}
}

// Work is something that the server does for a sender, such as a request, a tail or a connection. When the list of
// users changes, all work is checked against the new list. Work ends if its sender was removed, has another password,
// or lost a right that the work needs. Work implements access.Work.
type Work struct {
	p      *Provider
	sender access.Sender
	end    func(error)

	needs []access.Need
	// many is set if the work has more needs than are kept. Then any change of the sender's grants ends it.
	many bool
	lost error // why it was ended
}

// maxNeeds bounds the needs of one work.
const maxNeeds = 1000

// Begin starts work for s, which Authenticate returned. When s may no longer do the work, end is called once with the
// reason. It may be called at any time, even before Begin has returned, and must not block. If end is nil, the work
// is never ended, and only Require checks the rights.
func (p *Provider) Begin(s access.Sender, end func(error)) access.Work {
	w := &Work{p: p, sender: s, end: end}
	if end != nil {
		p.work.mu.Lock()
		defer p.work.mu.Unlock()
		p.work.all[w] = struct{}{}
	}
	return w
}

// Require returns an error if the current list of users does not allow n to the sender. From then on the work needs
// n until it ends.
func (w *Work) Require(n access.Need) error {
	if err := w.sender.Require(n); err != nil {
		return err // the user never had this right
	}
	if w.end == nil {
		return w.p.users.Load().checkCurrent(w.sender, n)
	}
	w.p.work.mu.Lock()
	defer w.p.work.mu.Unlock()
	if w.lost != nil {
		return w.lost
	}
	if err := w.p.users.Load().checkCurrent(w.sender, n); err != nil {
		return err
	}
	// The rights of the list of users are the same for all objects, so one need for each privilege is enough.
	same := func(have access.Need) bool {
		return have.Privilege == n.Privilege && (w.sender.Grants == nil || have.Object == n.Object)
	}
	switch {
	case slices.ContainsFunc(w.needs, same):
	case len(w.needs) >= maxNeeds:
		w.many = true
	default:
		w.needs = append(w.needs, n)
	}
	return nil
}

// End must be called when the work has ended.
func (w *Work) End() {
	w.p.work.mu.Lock()
	defer w.p.work.mu.Unlock()
	delete(w.p.work.all, w)
}

// EndExpired ends the work of tokens and of people whose time has passed, and of all whose rights may be too old.
func (p *Provider) EndExpired() {
	p.recheckWork(func(s *access.Sender) bool { return s.Token != "" || s.Person != nil || p.tooOld(s) != nil })
}

// recheck ends the work that the current list of users does not allow.
func (p *Provider) recheck() { p.recheckWork(func(*access.Sender) bool { return true }) }

// recheckWork ends work that the current list of users no longer allows. It looks only at senders for which of returns
// true.
func (p *Provider) recheckWork(of func(*access.Sender) bool) {
	var ended []*Work
	p.work.mu.Lock()
	users := p.users.Load()
	for w := range p.work.all {
		if !of(&w.sender) {
			continue
		}
		err := users.checkCurrent(w.sender, access.Need{Privilege: access.SignedIn})
		for i := 0; err == nil && i < len(w.needs); i++ {
			err = users.checkCurrent(w.sender, w.needs[i])
		}
		if now := users.now(w.sender); err == nil && w.many && now.Grants != w.sender.Grants {
			err = errs.New(errs.AccessDenied, "the grants of %s were changed", shorten(w.sender.User))
		}
		if err != nil {
			w.lost = err
			delete(p.work.all, w)
			ended = append(ended, w)
		}
	}
	p.work.mu.Unlock()
	// The lock is not held here, because the functions end may call End.
	for _, w := range ended {
		w.end(w.lost)
	}
	if len(ended) > 0 {
		p.log.Info("ended requests and connections whose users have lost the right to them", "count", len(ended))
	}
}

// now returns s with the rights that the user has according to this list.
func (l *userList) now(s access.Sender) access.Sender {
	if s.Token != "" {
		if token.Like(s.User) {
			if t := l.tokens.find(s.Token); t != nil && t.index != nil {
				s.Grants = t.index()
			}
		} else if u, found := l.owners[s.User]; found {
			s.Grants, s.Database = u.sender.Grants, u.sender.Database
		}
		return s
	}
	if s.Person != nil {
		s.Grants, s.Database = l.people.index(s.User, s.Person), l.people.principals[s.User].GetDefaultDatabase()
		return s
	}
	if u := l.signedIn(&s); u != nil && u.sender.Version == s.Version {
		s.Right, s.Grants, s.Database = u.sender.Right, u.sender.Grants, u.sender.Database
	}
	return s
}

// signedIn returns the user as whom s has signed in, or nil.
func (l *userList) signedIn(s *access.Sender) *user {
	if s.Proof == proofCertificate {
		if u := l.certified(s.Certificate); u != nil && u.sender.User == s.User {
			return u
		}
		return nil
	}
	return l.byName[s.User]
}

// Current returns s with the rights that the user has now.
func (p *Provider) Current(s access.Sender) access.Sender { return p.users.Load().now(s) }

// checkCurrent returns an error if the current list of users does not allow n to s, who may have signed in with an
// earlier list.
func (l *userList) checkCurrent(s access.Sender, n access.Need) error {
	if err := l.tooOld(&s); err != nil {
		return err
	}
	switch {
	case s.Token != "":
		return l.checkToken(s, n)
	case s.Person != nil:
		return l.checkPerson(s, n)
	}
	u := l.signedIn(&s)
	switch {
	case u == nil:
		return refuse(errs.UserPasswordMismatch, "the user "+shorten(s.User)+" was removed, was disabled or has expired")
	case u.sender.Version != s.Version:
		return refuse(errs.UserPasswordMismatch, "the password of "+shorten(s.User)+" was changed: sign in with the new one")
	case !u.sender.May(n):
		return withdrawn(&u.sender, n)
	}
	return nil
}

// checkToken is checkCurrent for a sender with a token.
func (l *userList) checkToken(s access.Sender, n access.Need) error {
	if err := l.tokens.check(&s, l.clock()); err != nil {
		return err
	}
	if !token.Like(s.User) && l.owners[s.User] == nil {
		return notValid(s.Token) // the user was removed, was disabled or has expired
	}
	if s = l.now(s); !s.May(n) {
		return withdrawn(&s, n)
	}
	return nil
}

func withdrawn(s *access.Sender, n access.Need) error {
	what := n.Privilege.String()
	if o := n.Object.String(); o != "" && s.Grants != nil {
		what += " on " + shorten(o)
	}
	return errs.New(errs.AccessDenied, "the right %s was withdrawn from %s", what, shorten(s.User))
}
