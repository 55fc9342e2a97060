package auth

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cordwood/proto/errs"
	"cordwood/router/access"
)

// TestWorkEndsWithItsUser changes the list of users while work is in progress.
func TestWorkEndsWithItsUser(t *testing.T) {
	needs := func(p access.Privilege) access.Need { return access.Need{Privilege: p} }
	for _, tt := range []struct {
		what, after string
		need        access.Privilege
		code        errs.Code // 0 if the work continues
		text        string
	}{
		{"nothing changes", "bob=1\nann=pw\n", access.Drop, 0, ""},
		{"another user comes", "ann=pw\nbob=2\nzoe=3\n", access.Drop, 0, ""},
		{"removed", "bob=1\n", access.SignedIn, errs.UserPasswordMismatch, "the user ann was removed"},
		{"another password", "ann=new\n", access.SignedIn, errs.UserPasswordMismatch, "the password of ann was changed"},
		{"may no longer read", "ann:wo=pw\n", access.Select, errs.AccessDenied, "the right select was withdrawn from ann"},
		{"may still read", "ann:ro=pw\n", access.Select, 0, ""},
		{"may no longer write", "ann:ro=pw\n", access.Insert, errs.AccessDenied, "the right insert"},
		{"may still write", "ann:wo=pw\n", access.Insert, 0, ""},
	} {
		path := write(t, filepath.Join(t.TempDir(), "users"), "ann=pw\nbob=1\n")
		p, err := Open(Config{UserFile: path, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		s, err := p.Check(context.Background(), "ann", "pw", home)
		if err != nil {
			t.Fatal(err)
		}
		var ended []error
		w := p.Begin(s, func(err error) { ended = append(ended, err) })
		asking := p.Begin(s, nil)
		over := p.Begin(s, func(error) { t.Errorf("%s: work that had already finished was ended", tt.what) })
		over.End()
		if err := w.Require(needs(tt.need)); err != nil {
			t.Fatal(err)
		}
		write(t, path, tt.after)
		if err := p.Reload(); err != nil {
			t.Fatal(err)
		}
		again := []error{w.Require(needs(tt.need)), asking.Require(needs(tt.need))}
		if tt.code == 0 {
			if len(ended) > 0 || again[0] != nil || again[1] != nil {
				t.Errorf("%s: ended by %v, %v", tt.what, ended, again)
			}
		} else if len(ended) != 1 || errs.CodeOf(ended[0]) != tt.code || !strings.HasPrefix(ended[0].Error(), tt.text) ||
			errs.CodeOf(again[0]) != tt.code || errs.CodeOf(again[1]) != tt.code {
			t.Errorf("%s: ended by %v, %v", tt.what, ended, again)
		}
		if err := p.Reload(); err != nil || len(ended) > 1 {
			t.Errorf("%s: ended again", tt.what)
		}
		w.End()
		asking.End()
		if len(p.work.all) > 0 {
			t.Errorf("%s: %d entries remain", tt.what, len(p.work.all))
		}
	}
}

// TestWorkOfAnEarlierList begins work for a sender who was removed after the sign-in.
func TestWorkOfAnEarlierList(t *testing.T) {
	p := inline(t, "ann=pw")
	s, err := p.Check(context.Background(), "ann", "pw", home)
	if err != nil {
		t.Fatal(err)
	}
	users, _ := parseFile("bob=1\n")
	p.publish(users)
	w := p.Begin(s, func(error) {})
	defer w.End()
	if err := w.Require(access.Need{Privilege: access.SignedIn}); errs.CodeOf(err) != errs.UserPasswordMismatch {
		t.Error(err)
	}
}

// TestWorkThatNeverWasAllowed checks that the error says which right the user lacks, and does not say that it was taken
// away.
func TestWorkThatNeverWasAllowed(t *testing.T) {
	p := inline(t, "ann:ro=pw")
	s, err := p.Check(context.Background(), "ann", "pw", home)
	if err != nil {
		t.Fatal(err)
	}
	w := p.Begin(s, func(error) {})
	defer w.End()
	if err := w.Require(access.Need{Privilege: access.Drop}); errs.CodeOf(err) != errs.PermissionDenied {
		t.Error(err)
	}
}

// TestRememberedPasswordIsForgotten checks that the remembered check of an old password is no longer used when the
// password changes. Remembered checks of other users are still used.
func TestRememberedPasswordIsForgotten(t *testing.T) {
	old, other := hashBcrypt(t, "secret"), hashBcrypt(t, "other")
	p := inline(t, "ann="+old+",bob="+other)
	sender, err := p.Check(context.Background(), "ann", "secret", home)
	if err != nil || !accepts(p, "bob", "other") {
		t.Fatal(err)
	}
	users, _ := parseFile("ann=" + hashBcrypt(t, "new") + "\nbob=" + other)
	p.publish(users)
	if accepts(p, "ann", "secret") || !accepts(p, "ann", "new") {
		t.Error("the old password is accepted")
	}
	if now, err := p.Check(context.Background(), "ann", "new", home); err != nil || now.Version == sender.Version {
		t.Errorf("%+v, %v", now, err)
	}
	p.slow.free = 0 // no more slow checks
	if !accepts(p, "bob", "other") {
		t.Error("a user who did not change is checked again")
	}
}

// TestReloadUnderWork changes the list while work starts and ends, for the race detector.
func TestReloadUnderWork(t *testing.T) {
	p := inline(t, "ann=pw,bob=1")
	with, _ := parseFile("ann=pw\nbob=1\n")
	without, _ := parseFile("bob=1\n")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				s, err := p.Check(context.Background(), "ann", "pw", home)
				if err != nil {
					continue
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				w := p.Begin(s, cancel)
				err = w.Require(access.Need{Privilege: access.Select})
				if err != nil && errs.CodeOf(err) != errs.UserPasswordMismatch {
					t.Error(err)
				}
				w.End()
				if ctx.Err() == nil {
					cancel(nil)
				}
			}
		})
	}
	wg.Go(func() {
		for range 200 {
			for _, l := range []*userList{without, with} {
				fresh := &userList{byName: map[string]*user{}}
				for name, u := range l.byName {
					c := *u
					fresh.byName[name] = &c
				}
				p.publish(fresh)
			}
		}
	})
	wg.Wait()
	if len(p.work.all) > 0 {
		t.Errorf("%d are kept", len(p.work.all))
	}
}
