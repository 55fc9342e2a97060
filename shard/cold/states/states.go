// Package states keeps, in the bucket of a cluster, what is needed to make the cluster anew if all its disks are lost:
// the state of each shard as far as its rows are in objects, and the state of the metadata. FORMAT.md has the keys and
// the files.
//
// A state is stored under a key that was never used before. Only the leader of a group stores the states of the group.
// Two leaders do no harm, because the states of a lower term never count.
//
// A cluster that was made anew becomes the owner of the objects. The old one finds that out before it stores a state or
// deletes an object, and does neither.
package states

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cordwood/shard/cold/bucket"
)

const (
	// keepFor is the age from which a state is deleted, unless it is among the newest keepLeast of its group.
	keepFor   = 24 * time.Hour
	keepLeast = 2
	// keepEvery is the time of which one state of the metadata is kept, if they are stored more often.
	keepEvery = 10 * time.Minute
	// maxPruned is the maximum number of states that are deleted after one was stored.
	maxPruned = 100
	// maxFound is the maximum number of states that are listed.
	maxFound = 10_000_000
)

// Place is where the states of a cluster are.
type Place struct {
	Bucket bucket.Bucket
	// Cluster is the id of the cluster, with which all keys begin.
	Cluster string
}

// Stored is a state in the bucket.
type Stored struct {
	Key      string
	Modified time.Time
	Size     int64
	// Shard is the id of the shard, or 0 for the metadata. Incarnation is that of the shard.
	Shard, Incarnation uint32
	Term, Index        uint64
}

// compare orders the states of a group by their age: the newest is the greatest. The index alone does not decide,
// because a group that was recovered from one copy may continue from a lower one, in a higher term.
func (s *Stored) compare(to *Stored) int {
	return cmp.Or(cmp.Compare(s.Incarnation, to.Incarnation), cmp.Compare(s.Term, to.Term),
		cmp.Compare(s.Index, to.Index), s.Modified.Compare(to.Modified))
}

// prefix is what the keys of the states of a group begin with.
func (p Place) prefix(shard uint32) string {
	if shard == 0 {
		return p.Cluster + "/state/meta/"
	}
	return fmt.Sprintf("%s/state/shard/%d/", p.Cluster, shard)
}

// key returns a new key for a state.
func (p Place) key(h *Header) string {
	return fmt.Sprintf("%s%d-%d-%d-%016x.state", p.prefix(h.Shard), h.Incarnation, h.Term, h.Index, rand.Uint64())
}

// parse describes the state with a key. ok is false for other objects.
func (p Place) parse(i bucket.Info) (s Stored, ok bool) {
	s = Stored{Key: i.Key, Modified: i.Modified, Size: i.Size}
	rest, meta := strings.CutPrefix(i.Key, p.prefix(0))
	if !meta {
		if rest, ok = strings.CutPrefix(i.Key, p.Cluster+"/state/shard/"); !ok {
			return s, false
		}
		if n, err := fmt.Sscanf(rest, "%d/", &s.Shard); n != 1 || err != nil || s.Shard == 0 {
			return s, false
		}
		if rest, ok = strings.CutPrefix(rest, fmt.Sprintf("%d/", s.Shard)); !ok {
			return s, false
		}
	}
	var random uint64
	n, err := fmt.Sscanf(rest, "%d-%d-%d-%x.state", &s.Incarnation, &s.Term, &s.Index, &random)
	again := fmt.Sprintf("%d-%d-%d-%016x.state", s.Incarnation, s.Term, s.Index, random)
	return s, n == 4 && err == nil && rest == again
}

// Put stores a state, and deletes old ones of the group. It fails if another cluster owns the objects.
func (p Place) Put(ctx context.Context, h Header, body []byte) error {
	if err := p.CheckOwner(ctx); err != nil {
		return err
	}
	h.Cluster = p.Cluster
	b, err := Encode(&h, body)
	if err != nil {
		return err
	}
	if len(b) > bucket.MaxPut {
		return fmt.Errorf("the state of %s has %d bytes, at most %d can be stored", h.group(), len(b), bucket.MaxPut)
	}
	if err := p.Bucket.Put(ctx, p.key(&h), content(b)); err != nil {
		return err
	}
	return p.prune(ctx, h.Shard)
}

// prune deletes old states of a group.
func (p Place) prune(ctx context.Context, shard uint32) error {
	list, err := p.list(ctx, p.prefix(shard))
	if err != nil || len(list) <= keepLeast {
		return err
	}
	slices.SortFunc(list, func(a, b Stored) int { return b.compare(&a) })
	newest := list[0].Modified
	deleted := 0
	for i, s := range list {
		window := s.Modified.Truncate(keepEvery)
		more := shard == 0 && i+1 < len(list) && list[i+1].Modified.Truncate(keepEvery).Equal(window)
		if i < keepLeast || newest.Sub(s.Modified) <= keepFor && !more {
			continue
		}
		if err := p.Bucket.Delete(ctx, s.Key); err != nil {
			return err
		}
		if deleted++; deleted == maxPruned {
			break
		}
	}
	return nil
}

// Has reports whether there is any state of a shard.
func (p Place) Has(ctx context.Context, shard uint32) (bool, error) {
	list, err := p.list(ctx, p.prefix(shard))
	return len(list) > 0, err
}

func (p Place) list(ctx context.Context, prefix string) (list []Stored, err error) {
	err = p.Bucket.List(ctx, prefix, func(i bucket.Info) error {
		s, ok := p.parse(i)
		if !ok {
			return nil
		}
		if len(list) == maxFound {
			return fmt.Errorf("there are more than %d states below %s", maxFound, prefix)
		}
		list = append(list, s)
		return nil
	})
	return list, err
}

// List returns all states of the cluster by shard, the newest first. Those of the metadata are at 0.
func (p Place) List(ctx context.Context) (map[uint32][]Stored, error) {
	list, err := p.list(ctx, p.Cluster+"/state/")
	if err != nil {
		return nil, err
	}
	groups := map[uint32][]Stored{}
	for _, s := range list {
		groups[s.Shard] = append(groups[s.Shard], s)
	}
	for _, g := range groups {
		slices.SortFunc(g, func(a, b Stored) int { return b.compare(&a) })
	}
	return groups, nil
}

// Read reads and checks a state.
func (p Place) Read(ctx context.Context, s *Stored) (h Header, body []byte, err error) {
	b, err := bucket.ReadAll(ctx, p.Bucket, s.Key, bucket.MaxPut)
	if err != nil {
		return h, nil, err
	}
	if h, body, err = Decode(p.Bucket.Location()+"/"+s.Key, b); err != nil {
		return h, nil, err
	}
	if h.Cluster != p.Cluster || h.Shard != s.Shard || h.Incarnation != s.Incarnation || h.Term != s.Term ||
		h.Index != s.Index {
		return h, nil, fmt.Errorf("%s/%s has the state of %s of cluster %s at index %d: it is another one than its key says",
			p.Bucket.Location(), s.Key, h.group(), h.Cluster, h.Index)
	}
	return h, body, nil
}
