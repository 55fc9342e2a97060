package states

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cordwood/shard/cold/bucket"
)

// world is a bucket whose times are those of a clock that the test sets.
type world struct {
	bucket.Bucket
	now  time.Duration
	puts map[string]time.Duration
}

func (w *world) at() time.Time { return time.Unix(1_700_000_000, 0).Add(w.now) }

func (w *world) Put(ctx context.Context, key string, c bucket.Content) error {
	err := w.Bucket.Put(ctx, key, c)
	if err == nil {
		w.puts[key] = w.now
	}
	return err
}

func (w *world) List(ctx context.Context, prefix string, f func(bucket.Info) error) error {
	return w.Bucket.List(ctx, prefix, func(i bucket.Info) error {
		i.Modified = time.Unix(1_700_000_000, 0).Add(w.puts[i.Key])
		return f(i)
	})
}

// candidate is a replica of a group that believes that it leads.
type candidate struct {
	*Claim
	t     *testing.T
	term  uint64
	leads bool
}

var errDeposed = errors.New("it does not lead any more")

func (w *world) candidate(t *testing.T, node string, incarnation uint32, term uint64) *candidate {
	c := &candidate{t: t, term: term, leads: true}
	c.Claim = NewClaim(ClaimConfig{
		Place: Place{Bucket: w, Cluster: "c1"}, Shard: 7, Incarnation: incarnation, Node: node, Now: w.at,
		Monotonic: func() time.Duration { return w.now },
		Barrier: func(_ context.Context, term uint64) error {
			if !c.leads || term != c.term {
				return errDeposed
			}
			return nil
		},
	})
	return c
}

func (c *candidate) check() error { return c.Check(context.Background(), c.term, ClaimForDelete) }

func (c *candidate) alone(what string) {
	c.t.Helper()
	if err := c.check(); err != nil || c.Disputed() {
		c.t.Errorf("%s: %v, disputed %t", what, err, c.Disputed())
	}
}

func (c *candidate) rival(what, other string) {
	c.t.Helper()
	err := c.check()
	if !IsRival(err) || !c.Disputed() {
		c.t.Fatalf("%s: %v, want a rival", what, err)
	}
	if text := err.Error(); !strings.Contains(text, c.cfg.Node) || !strings.Contains(text, other) {
		c.t.Errorf("%s: %s", what, text)
	}
}

func newWorld(t *testing.T) *world {
	return &world{Bucket: bucket.NewDir(t.TempDir()), puts: map[string]time.Duration{}}
}

func (w *world) keys(t *testing.T) (keys []string) {
	t.Helper()
	err := w.Bucket.List(context.Background(), "", func(i bucket.Info) error { keys = append(keys, i.Key); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// TestClaimOfOneGroup lets replicas of one group lead one after the other. None of them is a rival, whatever the order
// in which they look.
func TestClaimOfOneGroup(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.candidate(t, "n1", 1, 5)
	first.alone("the first leader")
	for i, step := range []struct {
		incarnation uint32
		term        uint64
	}{{1, 6}, {1, 9}, {2, 3}} {
		w.now += ClaimIdle
		next := w.candidate(t, "n2", step.incarnation, step.term)
		first.leads = false
		next.alone("the next leader")
		if err := first.check(); !errors.Is(err, errDeposed) {
			t.Errorf("a leader of before, in step %d: %v", i, err)
		}
		w.now += ClaimIdle
		next.alone("the next leader, after an old one looked")
		first = next
	}
	first.term = 12 // it leads once more
	w.now += ClaimIdle
	first.alone("the same replica in a later term")
	if keys := w.keys(t); len(keys) != 1 || !strings.Contains(keys[0], "/2-12-") {
		t.Errorf("the notes are %q", keys)
	}
}

// TestRivals lets replicas of two groups lead that have the same ids. Both find out, whichever term is higher, and stay
// so until one has been stopped for some time.
func TestRivals(t *testing.T) {
	t.Parallel()
	for name, terms := range map[string][2]uint64{"higher": {5, 7}, "lower": {7, 5}, "the same": {6, 6}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.candidate(t, "alpha", 1, terms[0]), w.candidate(t, "beta", 1, terms[1])
			a.alone("the first one")
			w.now += time.Hour
			_ = b.check() // it may take the other one for an earlier leader
			w.now += ClaimIdle
			a.rival("the first one", "beta")
			for range 10 {
				w.now += ClaimIdle
				b.rival("the second one", "alpha")
				w.now += ClaimForDelete
				a.rival("the first one", "beta")
			}
			w.now += rivalGone - time.Minute
			a.rival("shortly after the other one was stopped", "beta")
			w.now += rivalGone
			a.alone("after the other one was stopped")
			if keys := w.keys(t); len(keys) != 1 {
				t.Errorf("the notes are %q", keys)
			}
			w.now += ClaimIdle
			a.alone("later")
			b.rival("the other one is back", "alpha")
			w.now += ClaimIdle
			a.rival("the other one is back", "beta")
		})
	}
}

// TestClaimIsKept looks at how often a claim makes requests.
func TestClaimIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.candidate(t, "alpha", 1, 5)
	a.alone("at first")
	w.Bucket = nil // a request would panic
	w.now += ClaimForPut - 1
	if err := a.Check(context.Background(), 5, ClaimForPut); err != nil {
		t.Error(err)
	}
}
