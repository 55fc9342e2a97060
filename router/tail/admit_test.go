package tail

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
)

// tailLimit is a quota of the database a.
type tailLimit struct{ atomic.Int64 }

func (l *tailLimit) TailLimit(database string) (int, bool) { return int(l.Load()), database == "a" }

func (l *tailLimit) OverTails(database string) error { return errors.New("over " + database) }

// twoDatabases is a catalog with the databases a and b.
type twoDatabases struct{ catalog }

func (twoDatabases) Databases() []*schemapb.Database {
	return []*schemapb.Database{{Name: "a"}, {Name: "b"}, {Name: schema.PrivateDatabase}}
}

// admitted makes a Handler, and a function that opens a tail of a database for a user.
func admitted(t *testing.T, most int, limit *tailLimit) (*Handler, func(ctx context.Context, db, user string) (*session,
	error),
) {
	t.Helper()
	r := newRig(t, func(c *Config) {
		c.Meta, c.MaxOpen, c.MaxOpenPerUser, c.Quotas = twoDatabases{}, most, most, limit
	})
	return r.h, func(ctx context.Context, db, user string) (*session, error) {
		s := newSession(r.h, nil, &schema.Table{Database: db, Name: "t"}, &input{}, func(error) {})
		return s, r.h.enter(ctx, s, user)
	}
}

// TestQuotaOfTails: a tail beyond the quota of its database waits for a moment, and is admitted if the part of this
// router grows or another tail ends. Tails of other databases do not wait.
func TestQuotaOfTails(t *testing.T) {
	limit := &tailLimit{}
	limit.Store(1)
	h, open := admitted(t, 64, limit)
	synctest.Test(t, func(t *testing.T) {
		first, err := open(t.Context(), "a", "ann")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err := open(t.Context(), "b", "ann"); err != nil || time.Since(begin) > 0 {
			t.Errorf("a tail of b: %v after %s", err, time.Since(begin))
		}
		if _, err := open(t.Context(), "a", "bob"); err == nil || err.Error() != "over a" || time.Since(begin) != quotaWait {
			t.Errorf("beyond the quota: %v after %s", err, time.Since(begin))
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errs.New(errs.AccessDenied, "the right was taken away")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		if _, err := open(ctx, "a", "bob"); !errors.Is(err, gone) {
			t.Errorf("a tail whose request ends while it waits: %v", err)
		}
		time.AfterFunc(time.Second, func() { h.leave(first) })
		second, err := open(t.Context(), "a", "bob")
		if err != nil {
			t.Errorf("after another tail ended: %v", err)
		}
		go func() {
			time.Sleep(time.Second)
			h.Running(func(database string, running, waiting int) {
				if database == "a" && (running != 1 || waiting != 1) {
					t.Errorf("%d tails run and %d wait", running, waiting)
				}
			})
			limit.Store(2)
		}()
		third, err := open(t.Context(), "a", "bob")
		if err != nil {
			t.Errorf("after the limit grew: %v", err)
		}
		limit.Store(0) // what is open remains
		for _, s := range []*session{second, third} {
			h.leave(s)
		}
		if len(h.open) != 1 || len(h.databases) != 1 || len(h.shares) != 1 {
			t.Errorf("%d tails, %d databases, %d users are left", len(h.open), len(h.databases), len(h.shares))
		}
	})
}

// TestTailsOfOneDatabase: a database with many tails leaves an eighth of all to databases without tails.
func TestTailsOfOneDatabase(t *testing.T) {
	limit := &tailLimit{}
	limit.Store(100)
	_, open := admitted(t, 16, limit)
	for i := range 14 {
		if _, err := open(t.Context(), "a", fmt.Sprint("user", i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open(t.Context(), "a", "another"); errs.CodeOf(err) != errs.RateLimited {
		t.Errorf("the 15th tail of a: %v", err)
	}
	if _, err := open(t.Context(), "b", "bob"); err != nil {
		t.Errorf("the first tail of b: %v", err)
	}
}
