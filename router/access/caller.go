package access

import (
	"context"
	"net/netip"

	"cordwood/proto/errs"
)

// Work is something that is under way for a sender, and ends when they may no longer do it.
type Work interface {
	// Require returns an error if the sender may not do n by the list of users as it is
	// now. From then on until the work is over, the work also ends when that right is lost.
	Require(n Need) error
	// End says that the work is over.
	End()
}

// Caller is a sender on whose behalf work is done. Its fields do not change while
// others can see it.
type Caller struct {
	Sender
	// Address is the address of the client; the zero Addr if it has none.
	Address netip.Addr
	// RequestID names the request in the log of changes; empty: it has no name.
	RequestID string
	// Work is asked whether the sender still may do what comes next. Nil means that rights
	// do not change meanwhile.
	Work Work
}

// Require returns an error if the caller may not do n now.
func (c *Caller) Require(n Need) error {
	if c.Work != nil {
		return c.Work.Require(n)
	}
	return c.Sender.Require(n)
}

// Share returns the key by which shared resources are divided among callers: the user, or the
// client's address while there are no users. Addresses of IPv6 count by their network of 64 bits:
// one client has as many addresses within it as it likes.
func (c *Caller) Share() string {
	if c.Proof != "" && c.Proof != "none" {
		return "user " + c.User
	}
	return "address " + Network(c.Address).String()
}

// KnownShare returns Share for code that holds a user responsible. It returns "" if neither user
// nor address is known: callers without both have nothing in common.
func (c *Caller) KnownShare() string {
	if key := c.Share(); key != "address "+(netip.Addr{}).String() {
		return key
	}
	return ""
}

// Network returns the key of a client's address where clients are counted: the
// address itself, or of IPv6 its network of 64 bits.
func Network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a // never: 64 bits are fewer than 128
	}
	return p.Addr()
}

// CallerKey is the key of the Caller in a context.
type CallerKey struct{}

// With returns a context for work that is done for c.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, CallerKey{}, c)
}

// From returns the caller on whose behalf the work of ctx is done. Without With it is a caller that may do
// nothing.
func From(ctx context.Context) *Caller {
	if c, ok := ctx.Value(CallerKey{}).(*Caller); ok {
		return c
	}
	return &nobody
}

var nobody = Caller{Work: noWork{}}

// noWork refuses everything: a path to the database without a caller is a mistake in this program.
type noWork struct{}

func (noWork) End() {}

func (noWork) Require(n Need) error {
	return errs.New(errs.AuthHeaderNotFound, "%s: nobody is signed in", n.what())
}
