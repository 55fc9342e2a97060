package states

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/shard/cold/bucket"
)

// Claims are looked at when they are older than one of these.
const (
	// ClaimForDelete is for deletions, ClaimForPut for objects and states.
	ClaimForDelete = time.Minute
	ClaimForPut    = 10 * time.Minute
	// ClaimIdle is for a leader that does nothing else, so that the leader of a rival group sees it.
	ClaimIdle = 30 * time.Minute
	// rivalGone is the time after which a rival counts as stopped that has not renewed its dispute. A rival that runs
	// renews it every ClaimIdle, or some minutes later if something fails.
	rivalGone = 75 * time.Minute
)

// Claim says in the bucket that a replica leads a group of the cluster, and finds out if a replica of another group
// with the same ids does too, because a data folder was copied: each of the two would delete objects that the other
// needs.
//
// Each leadership has a note of its own, and removes those of earlier ones. A note of a leadership that is not
// earlier, or a note that somebody has removed, cannot come from the same group, if this replica still leads after
// it has looked. Then both dispute: neither stores or deletes anything until the other has not renewed its dispute
// for some time.
//
// The methods may be called concurrently.
type Claim struct {
	cfg ClaimConfig

	mu sync.Mutex // guards the rest; held during requests
	// leadership is the one that was claimed last, of term 0 if none was. Its life stays.
	leadership leadership
	written    bool
	looked     time.Duration
	found      error // what the last look found
	// disputed is whether found is not nil. It is read without mu.
	disputed atomic.Bool
	// rivals are the notes of others, with when they were last seen to change.
	rivals map[string]rivalNote
}

// ClaimConfig configures a Claim. All fields are required.
type ClaimConfig struct {
	Place              Place
	Shard, Incarnation uint32
	// Node describes the node for operators.
	Node string
	// Barrier returns nil if this replica leads in a term at a moment after the call.
	Barrier func(ctx context.Context, term uint64) error
	// Now returns the time of the machine's clock, Monotonic that since some fixed moment.
	Now       func() time.Time
	Monotonic func() time.Duration
}

// leadership is the content of a note.
type leadership struct {
	Node        string    `json:"node"`
	Incarnation uint32    `json:"incarnation,omitempty"`
	Term        uint64    `json:"term"`
	Life        string    `json:"life"` // random, of a Claim; also in the key
	Since       time.Time `json:"since"`
}

type rivalNote struct {
	modified time.Time
	seen     time.Duration
}

// ErrRival means that a replica of another group with the same ids leads too.
type ErrRival struct {
	Cluster, Location, Group string
	// Own and Rival describe the two nodes.
	Own, Rival string
}

// Error names both.
func (e *ErrRival) Error() string {
	return fmt.Sprintf("two servers lead %s of cluster %s in %s, which do not know each other: this one, %s, and %s; a "+
		"data folder was copied, or restored while the cluster ran on. Neither stores or deletes objects: stop one of them "+
		"for good. The other one goes on %s later", e.Group, e.Cluster, e.Location, e.Own, e.Rival, rivalGone)
}

// NewClaim returns a Claim. It does nothing before Check.
func NewClaim(cfg ClaimConfig) *Claim {
	own := leadership{Node: cfg.Node, Incarnation: cfg.Incarnation, Life: rand.Text()}
	return &Claim{cfg: cfg, leadership: own, rivals: map[string]rivalNote{}}
}

func (c *Claim) prefix() string {
	return fmt.Sprintf("%s/state/lead/%d/", c.cfg.Place.Cluster, c.cfg.Shard)
}

// disputed begins the names of notes that a leader renews while there is a rival.
const disputed = "dispute-"

func (c *Claim) key() string {
	l := &c.leadership
	return fmt.Sprintf("%s%d-%d-%s.json", c.prefix(), l.Incarnation, l.Term, l.Life)
}

func (c *Claim) disputeKey() string { return c.prefix() + disputed + c.leadership.Life + ".json" }

// Check returns nil if this replica, which leads in a term, was the only one within the last maxAge. It returns an
// *ErrRival if there is another one.
func (c *Claim) Check(ctx context.Context, term uint64, maxAge time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.cfg.Monotonic()
	if term != c.leadership.Term {
		c.leadership.Term, c.leadership.Since = term, c.cfg.Now().UTC()
		c.written = false
	} else if c.written && now-c.looked < maxAge {
		return c.found
	}
	found, err := c.look(ctx, now)
	if err != nil {
		return err
	}
	c.looked, c.found = now, found
	c.disputed.Store(found != nil)
	return found
}

// Disputed reports whether the last look found a rival.
func (c *Claim) Disputed() bool { return c.disputed.Load() }

// look compares the notes in the bucket. found is an *ErrRival or nil.
func (c *Claim) look(ctx context.Context, now time.Duration) (found, err error) {
	removed := false
	if c.written {
		_, err := c.cfg.Place.Bucket.Head(ctx, c.key())
		if removed = errors.Is(err, bucket.ErrNotFound); err != nil && !removed {
			return nil, err
		}
	}
	if !c.written || removed {
		if err := c.put(ctx, c.key()); err != nil {
			return nil, err
		}
		c.written = true
	}
	notes, err := c.list(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.cfg.Barrier(ctx, c.leadership.Term); err != nil {
		return nil, err // what follows is true only if this replica leads
	}
	rivals := c.note(notes, removed, now)
	if len(rivals) > 0 {
		if err := c.put(ctx, c.disputeKey()); err != nil {
			return nil, err
		}
		return c.describe(ctx, append(rivals, notes...)), nil
	}
	// The group is the only one. Those who read these notes may see them removed in any order.
	for _, n := range notes {
		if n.Key != c.key() {
			_ = c.cfg.Place.Bucket.Delete(ctx, n.Key) // the next look tries it again
		}
	}
	return nil, nil
}

// claimNote is a note in the bucket.
type claimNote struct {
	bucket.Info
	leadership // without the node and the time
	life       string
	dispute    bool
}

func (c *Claim) list(ctx context.Context) (notes []claimNote, err error) {
	err = c.cfg.Place.Bucket.List(ctx, c.prefix(), func(i bucket.Info) error {
		name, ok := strings.CutSuffix(strings.TrimPrefix(i.Key, c.prefix()), ".json")
		if !ok {
			return nil
		}
		n := claimNote{Info: i}
		if n.life, n.dispute = strings.CutPrefix(name, disputed); n.dispute {
			notes = append(notes, n)
			return nil
		}
		parts := strings.Split(name, "-")
		if len(parts) != 3 {
			return nil
		}
		if _, err := fmt.Sscanf(parts[0]+" "+parts[1], "%d %d", &n.Incarnation, &n.Term); err != nil {
			return nil //nolint:nilerr // it is not one of these notes
		}
		n.life = parts[2]
		notes = append(notes, n)
		return nil
	})
	return notes, err
}

// earlier reports whether a note is of an earlier leadership of the group.
func (c *Claim) earlier(n *claimNote) bool {
	own := &c.leadership
	return n.Incarnation < own.Incarnation || n.Incarnation == own.Incarnation && n.Term < own.Term
}

// note updates what is known about rivals, and returns the notes of those that may run. removed means that somebody has
// removed the own note.
func (c *Claim) note(notes []claimNote, removed bool, now time.Duration) (running []claimNote) {
	seen := map[string]rivalNote{}
	note := func(n claimNote) {
		r, known := c.rivals[n.Key]
		if !known || !r.modified.Equal(n.Modified) {
			r = rivalNote{n.Modified, now}
		}
		seen[n.Key] = r
		if now-r.seen < rivalGone {
			running = append(running, n)
		}
	}
	if _, before := c.rivals[""]; before || removed {
		n := claimNote{} // the one that has removed the note
		if removed {
			n.Modified = c.cfg.Now()
		} else {
			n.Modified = c.rivals[""].modified
		}
		note(n)
	}
	for _, n := range notes {
		if n.life != c.leadership.Life && (n.dispute || !c.earlier(&n)) {
			note(n)
		}
	}
	if len(running) == 0 {
		seen = map[string]rivalNote{} // what is left is removed
	}
	c.rivals = seen
	return running
}

// put stores a note. Only this Claim has the key.
func (c *Claim) put(ctx context.Context, key string) error {
	b, err := json.Marshal(c.leadership)
	if err != nil {
		return err
	}
	body := content(b)
	body.Replace = true
	return c.cfg.Place.Bucket.Put(ctx, key, body)
}

// describe returns the error about a rival: the first of some notes that has one's node.
func (c *Claim) describe(ctx context.Context, notes []claimNote) error {
	e := &ErrRival{
		Cluster: c.cfg.Place.Cluster, Location: c.cfg.Place.Bucket.Location(), Group: (&Header{Shard: c.cfg.Shard}).group(),
		Own: c.leadership.text(), Rival: "one that is not known yet",
	}
	for _, n := range notes {
		var l leadership
		if n.Key != "" && n.life != c.leadership.Life && c.cfg.Place.note(ctx, n.Key, &l) == nil && l.Node != "" {
			e.Rival = l.text()
			break
		}
	}
	return e
}

func (l *leadership) text() string {
	return fmt.Sprintf("node %s, since %s in term %d", l.Node, l.Since.UTC().Format(time.RFC3339), l.Term)
}

// IsRival reports whether an error means that another group has the same ids.
func IsRival(err error) bool {
	e := (*ErrRival)(nil)
	return errors.As(err, &e)
}
