package access

import (
	"context"
	"net/netip"

	"cordwood/proto/errs"
)

// Work is something that the server does for a sender. It ends if the sender loses the right to it.
type Work interface {
	// Require returns an error if the current list of users does not allow n to the sender. From then on, the work
	// also ends if the sender loses this right.
	Require(n Need) error
	// End must be called when the work has ended.
	End()
}

// Caller is a sender on whose behalf work is done. Its fields do not change while
// others can see it.
type Caller struct {
	Sender
	// Address is the address of the client. It is the zero Addr if there is none.
	Address netip.Addr
	// RequestID identifies the request in the log of changes. It may be empty.
	RequestID string
	// Work checks the sender's current rights. If it is nil, rights do not change during the work.
	Work Work
}

// Require returns an error if the caller may not do n now.
func (c *Caller) Require(n Need) error {
	if c.Work != nil {
		return c.Work.Require(n)
	}
	return c.Sender.Require(n)
}

// Share returns the key by which shared resources are divided among callers. It is the user, or the client's address
// if the server has no users. An IPv6 address counts as its 64-bit network, because one client can use any number of
// addresses in its network.
func (c *Caller) Share() string {
	if c.Proof != "" && c.Proof != "none" {
		return "user " + c.User
	}
	return "address " + Network(c.Address).String()
}

// KnownShare is Share for limits that hold a user responsible. It returns "" if neither user nor address is known,
// because such callers have nothing in common.
func (c *Caller) KnownShare() string {
	if key := c.Share(); key != "address "+(netip.Addr{}).String() {
		return key
	}
	return ""
}

// Network returns the key by which clients are counted: the address, or the 64-bit network of an IPv6 address.
func Network(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a // never fails, because an IPv6 address has 128 bits
	}
	return p.Addr()
}

// CallerKey is the key of the Caller in a context.
type CallerKey struct{}

// With returns a context for work that is done for c.
func With(ctx context.Context, c *Caller) context.Context {
	return context.WithValue(ctx, CallerKey{}, c)
}

// From returns the caller in ctx. If there is none, it returns a caller that may do nothing.
func From(ctx context.Context) *Caller {
	if c, ok := ctx.Value(CallerKey{}).(*Caller); ok {
		return c
	}
	return &nobody
}

var nobody = Caller{Work: noWork{}}

// noWork is the Work of a context without a caller. It refuses everything, because access to the database without a
// caller is a bug.
type noWork struct{}

func (noWork) End() {}

func (noWork) Require(n Need) error {
	return errs.New(errs.AuthHeaderNotFound, "%s: nobody is signed in", n.describe())
}
