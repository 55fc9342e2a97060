package simulation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/schema"
	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/cold/tier"
	"cordwood/shard/rules"
	"cordwood/shard/store"
	"cordwood/shard/vfs"
)

// This file has the object storage of the cluster. The rows of one table go there, and their objects are joined.

// coldTable is the name of the table whose rows go to object storage. They are as old as coldAge, so that their objects
// are joined as soon as there are some.
const (
	coldTable = "c1"
	coldAge   = 26 * time.Hour
	coldTTL   = 100 * time.Hour
)

// objects is the bucket of a cluster, in a folder in memory.
type objects struct {
	bucket.Bucket

	mu  sync.Mutex // guards the fields below
	rng *rand.Rand
	// rows are those of objects, by key. An object never changes.
	rows map[string]map[rowID]int
}

func newObjects(seed uint64, dir string) *objects {
	return &objects{
		Bucket: bucket.NewDir(filepath.Join(dir, "bucket")), rng: rand.New(rand.NewPCG(seed, 4)),
		rows: map[string]map[rowID]int{},
	}
}

func (o *objects) draw(n int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.rng.IntN(n)
}

// read counts the rows of an object.
func (o *objects) read(ctx context.Context, x *cold.Object, t *schema.Table, into map[rowID]int) error {
	if _, err := o.Head(ctx, x.Key); err != nil {
		return err
	}
	o.mu.Lock()
	rows := o.rows[x.Key]
	o.mu.Unlock()
	if rows == nil {
		data, err := o.whole(ctx, x.Key)
		if err != nil {
			return err
		}
		fs, seg := vfs.NewMem(), store.Segment{Meta: x.Meta, Path: "/o/object"}
		err = fs.MkdirAll("/o")
		if err != nil {
			return err
		}
		f, err := fs.Create(seg.Path)
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
		rows = map[rowID]int{}
		if err := errors.Join(f.Close(), readSegment(fs, &seg, t, rows)); err != nil {
			return fmt.Errorf("object %s: %w", x.Key, err)
		}
		o.mu.Lock()
		o.rows[x.Key] = rows
		o.mu.Unlock()
	}
	for row, n := range rows {
		into[row] += n
	}
	return nil
}

func (o *objects) whole(ctx context.Context, key string) ([]byte, error) {
	r, err := o.Open(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	return io.ReadAll(r)
}

// shelf is the bucket as a process sees it. Some requests that store something fail, or their answers are lost. Other
// requests take no time, because some are made under a mutex.
type shelf struct {
	*objects
	dead *atomic.Bool
}

var errShelf = errors.New("the simulation let the request fail")

func (s shelf) Put(ctx context.Context, key string, c bucket.Content) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(s.draw(400)) * time.Millisecond):
	}
	n := s.draw(100)
	if s.dead.Load() {
		return errDead
	}
	failed := &bucket.Error{Kind: bucket.Unavailable, Op: "write", At: key, Err: errShelf}
	if n == 0 {
		return failed
	}
	if err := s.Bucket.Put(ctx, key, c); err != nil {
		return err
	}
	if n == 1 {
		return failed
	}
	return nil
}

func (s shelf) Range(ctx context.Context, key string, r bucket.Range) ([]byte, error) {
	if s.dead.Load() {
		return nil, errDead
	}
	return s.Bucket.Range(ctx, key, r)
}

func (s shelf) Delete(ctx context.Context, key string) error {
	if s.dead.Load() {
		return errDead
	}
	return s.Bucket.Delete(ctx, key)
}

// tier returns which rows a process moves to the bucket. The first node keeps rows for so long that it joins no
// objects, and has own rows when others do.
func (p *process) tier() *tier.Tier {
	n := p.node
	if n.cluster.objects == nil {
		return nil
	}
	stay := time.Hour
	if n.ID == n.cluster.founders[0] {
		stay = 2 * coldAge
	}
	return &tier.Tier{
		Bucket: shelf{n.cluster.objects, p.dead}, Cluster: clusterID, Node: n.ID,
		Tables:      func(t *schema.Table) bool { return t.Name == coldTable },
		UploadAfter: 2 * time.Second, Every: 3 * time.Second, LocalFor: stay, Grace: 30 * time.Second,
	}
}

// ttlOf is the ttl of a table. A run is shorter, so nothing may expire, whatever the clocks show.
func ttlOf(t *schema.Table) schema.TTL {
	if t.Name == coldTable {
		return schema.TTL{D: coldTTL}
	}
	return schema.TTL{D: keep}
}

// joined returns how many cuts were joined that still have objects.
func (w *World) joined() (cuts int) {
	for _, m := range w.shards() {
		if _, s := w.leader(m.Id); s != nil {
			s.Store().Status.Inspect(func(st *rules.State) {
				for _, set := range st.Sets() {
					for _, j := range set.Joined {
						cuts += len(j.Cuts)
					}
				}
			})
		}
	}
	return cuts
}

// settleObjects gives the last rows time to go to the bucket, and objects to be joined and deleted.
func (w *World) settleObjects() {
	if w.cluster.objects != nil {
		time.Sleep(time.Minute)
	}
}
