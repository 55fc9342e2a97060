package auth

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"cordwood/proto/errs"
)

// clock is a time that a test can change.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// timed returns a provider for the users in list, and its clock.
func timed(t *testing.T, list string) (*Provider, *clock) {
	p, c := inline(t, list), &clock{at: time.Unix(1_700_000_000, 0)}
	p.now, p.guesses.now, p.remembered.now = c.now, c.now, c.now
	return p, c
}

// countingVerifier is a slow check that counts its calls. If hold is not nil, it waits for it.
type countingVerifier struct {
	mu   sync.Mutex
	n    int
	hold chan struct{}
}

func (v *countingVerifier) matches(password string) bool {
	v.mu.Lock()
	v.n++
	v.mu.Unlock()
	if v.hold != nil {
		<-v.hold
	}
	return password == "secret"
}

func (v *countingVerifier) slow() bool { return true }

func (v *countingVerifier) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.n
}

// code tries to sign in, and returns the code of the answer.
func code(p *Provider, user, password, from string) errs.Code {
	_, err := p.Check(context.Background(), user, password, netip.MustParseAddr(from))
	return errs.CodeOf(err)
}

// TestSuccessesAreRemembered checks that a right password is checked once, and a wrong password each time.
func TestSuccessesAreRemembered(t *testing.T) {
	p, c := timed(t, "ann=x")
	counting := &countingVerifier{}
	p.users.Load().byName["ann"].password = counting
	for range 3 {
		if code(p, "ann", "secret", "192.0.2.7") != 0 || code(p, "ann", "wrong", "192.0.2.7") != errs.UserPasswordMismatch {
			t.Fatal("wrong answers")
		}
	}
	if counting.n != 1+3 {
		t.Errorf("%d computations", counting.n)
	}
	c.move(rememberIdle + time.Second)
	code(p, "ann", "secret", "192.0.2.7")
	if counting.n != 5 {
		t.Errorf("%d computations after a pause", counting.n)
	}
	// The credentials are used all the time, but are not remembered forever.
	for range int(rememberMost/rememberIdle) + 2 {
		c.move(rememberIdle)
		code(p, "ann", "secret", "192.0.2.7")
	}
	if counting.n != 6 {
		t.Errorf("%d computations after half a day", counting.n)
	}
}

// TestRememberedAreBounded checks that the number of remembered credentials is limited, and that the least recently
// used ones are forgotten first.
func TestRememberedAreBounded(t *testing.T) {
	r := newRemembered(time.Now)
	first, second := r.key("ann", 1, "0"), r.key("ann", 1, "1")
	r.put(first)
	r.put(second)
	for i := range maxRemembered - 1 {
		r.put(r.key("bob", 1, fmt.Sprint(i)))
		r.has(first)
	}
	if r.kept.Len() != maxRemembered || !r.has(first) || r.has(second) {
		t.Errorf("%d are kept", r.kept.Len())
	}
	if r.key("ann", 1, "x") == r.key("ann", 2, "x") || r.key("a", 1, "nx") == r.key("an", 1, "x") {
		t.Error("different credentials have the same key")
	}
}

// TestGuessing checks that one user is locked for one address, and that other users and addresses are not locked.
func TestGuessing(t *testing.T) {
	for _, slow := range []bool{false, true} {
		p, c := timed(t, "ann=secret,bob=secret")
		counting := &countingVerifier{}
		if slow {
			p.users.Load().byName["ann"].password = counting
		}
		for i := range maxFailures {
			if got := code(p, "ann", "wrong", "192.0.2.7"); got != errs.UserPasswordMismatch {
				t.Fatalf("failure %d: %d", i+1, got)
			}
			c.move(time.Second)
		}
		checks := counting.count()
		_, err := p.Check(context.Background(), "ann", "secret", home)
		e := errs.From(err)
		if e.Code != errs.RateLimited || e.Status() != 429 || e.RetryAfter != 50*time.Second ||
			e.Msg != "too many failed sign-ins of ann from 192.0.2.7; try again in 50 s" {
			t.Fatalf("slow %t: locked, the right password gets %v, %s", slow, err, e.RetryAfter)
		}
		if counting.count() != checks {
			t.Error("a locked pair costs a slow check")
		}
		for what, got := range map[string]errs.Code{
			"ann elsewhere":           code(p, "ann", "secret", "192.0.2.8"),
			"bob at the same address": code(p, "bob", "secret", "192.0.2.7"),
		} {
			if got != 0 {
				t.Errorf("slow %t: %s: %d", slow, what, got)
			}
		}
		// That the user signed in elsewhere does not help somebody who guesses here.
		for _, password := range []string{"secret", "wrong"} {
			if got := code(p, "ann", password, "192.0.2.7"); got != errs.RateLimited {
				t.Errorf("slow %t: the password %s of a user who signed in elsewhere: %d", slow, password, got)
			}
		}
		c.move(50 * time.Second)
		if got := code(p, "ann", "wrong", "192.0.2.7"); got != errs.UserPasswordMismatch {
			t.Errorf("slow %t: after the minute: %d", slow, got)
		}
	}
}

// TestGuessingBesideUser checks that somebody who guesses at the address of a user does not lock out the user.
func TestGuessingBesideUser(t *testing.T) {
	for _, slow := range []bool{false, true} {
		p, c := timed(t, "ann=secret")
		if slow {
			p.users.Load().byName["ann"].password = &countingVerifier{}
		}
		for minute := range 3 {
			if got := code(p, "ann", "secret", "192.0.2.7"); got != 0 {
				t.Fatalf("slow %t, minute %d: the right password: %d", slow, minute, got)
			}
			for range 2 * maxFailures {
				code(p, "ann", "wrong", "192.0.2.7")
			}
			if got := code(p, "ann", "wrong", "192.0.2.7"); got != errs.RateLimited {
				t.Fatalf("slow %t, minute %d: a wrong password: %d", slow, minute, got)
			}
			if got := code(p, "ann", "secret", "192.0.2.7"); got != 0 {
				t.Errorf("slow %t, minute %d: the right password of a locked pair: %d", slow, minute, got)
			}
			c.move(time.Minute)
		}
		for range 2 * maxFailures {
			code(p, "ann", "wrong", "192.0.2.7")
			c.move(time.Second)
		}
		c.move(guessWindow)
		c.move(rememberIdle)
		for range maxFailures {
			code(p, "ann", "wrong", "192.0.2.7")
		}
		if got := code(p, "ann", "secret", "192.0.2.7"); got != errs.RateLimited {
			t.Errorf("slow %t: long after the user signed in: %d", slow, got)
		}
	}
}

// TestGuessingOfUnknownUsers checks that names that do not exist are locked too, so the answer does not reveal which
// exist.
func TestGuessingOfUnknownUsers(t *testing.T) {
	p, _ := timed(t, "ann=secret")
	for range maxFailures {
		code(p, "nobody", "x", "192.0.2.7")
	}
	if got := code(p, "nobody", "x", "192.0.2.7"); got != errs.RateLimited {
		t.Error(got)
	}
}

// TestGuessingByIPv6 checks that all addresses of a 64-bit network count as one client.
func TestGuessingByIPv6(t *testing.T) {
	p, _ := timed(t, "ann=secret")
	for i := range maxFailures {
		code(p, "ann", "wrong", fmt.Sprintf("2001:db8:1:2::%x", i))
	}
	if got := code(p, "ann", "secret", "2001:db8:1:2:ffff::1"); got != errs.RateLimited {
		t.Errorf("another address of the network: %d", got)
	}
	if got := code(p, "ann", "secret", "2001:db8:1:3::1"); got != 0 {
		t.Errorf("another network: %d", got)
	}
}

// TestGuessesAreBounded checks that the number of counted pairs is limited, the oldest are forgotten first, and all are
// forgotten after their time.
func TestGuessesAreBounded(t *testing.T) {
	p, c := timed(t, "ann=secret")
	for range maxFailures {
		code(p, "ann", "wrong", "192.0.2.7")
	}
	for i := range maxPairs {
		p.guesses.failed(strings.Repeat("long", 50)+fmt.Sprint(i), home)
		if i == maxPairs/2 && code(p, "ann", "wrong", "192.0.2.7") != errs.RateLimited {
			t.Error("forgotten too early")
		}
	}
	if n := len(p.guesses.pairs.byKey); n != maxPairs || p.guesses.pairs.order.Len() != n {
		t.Errorf("%d pairs", n)
	}
	if got := code(p, "ann", "wrong", "192.0.2.7"); got != errs.UserPasswordMismatch {
		t.Errorf("the oldest pair: %d", got)
	}
	c.move(guessWindow)
	p.guesses.failed("ann", home)
	if n := len(p.guesses.pairs.byKey); n != 1 || len(p.guesses.nets.byKey) != 1 {
		t.Errorf("%d pairs after their time", n)
	}
}
