package tier

import (
	"context"
	"fmt"
	"time"

	"cordwood/shard/cold"
	"cordwood/shard/cold/bucket"
	"cordwood/shard/rules"
)

const (
	// lookTime limits how long a step looks for objects, and maxShownMissing how many missing ones it logs.
	lookTime        = time.Minute
	maxShownMissing = 20
	// lookAgain is the delay before an object that was missing is looked for again.
	lookAgain = 10 * time.Minute
	// maxWitnesses is the number of objects that show that the bucket is the right one.
	maxWitnesses = 3
)

// foundObjects knows which of the objects whose twins may be dropped are in the bucket.
type foundObjects struct {
	// there has the keys of those that were found.
	there map[string]bool
	// missing says when the others are looked for again, by Config.Monotonic.
	missing map[string]time.Duration
}

func (f *foundObjects) has(key string) bool { return f.there[key] }

// look looks for objects in the bucket: their sizes, and their checksums if the service knows them, and otherwise their
// ends. What it does not find, or cannot ask for, is not there. It forgets all other objects.
func (m *Mover) look(ctx context.Context, objects []cold.Object) {
	before, now := m.found, m.cfg.Monotonic()
	m.found = foundObjects{there: map[string]bool{}, missing: map[string]time.Duration{}}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	asking, lost := true, 0
	for i := range objects {
		o := &objects[i]
		again, missing := before.missing[o.Key]
		switch {
		case before.there[o.Key]:
			m.found.there[o.Key] = true
			continue
		case missing && now < again:
			m.found.missing[o.Key] = again
			continue
		case !asking:
			continue
		}
		err := find(ctx, m.cfg.Tier.Bucket, o)
		switch kind, _ := bucket.KindOf(err); {
		case err == nil:
			m.found.there[o.Key] = true
		case kind == bucket.NotFound || kind == bucket.Damaged:
			m.found.missing[o.Key] = now + lookAgain
			m.noteLost(o)
			if lost++; lost <= maxShownMissing {
				m.cfg.Logger.Error("an object in object storage is missing or damaged; the local segments with its rows are "+
					"kept, and it is stored again if they make the same bytes; otherwise restore it from a version or a copy of the "+
					"bucket", "object", o.Key, "error", err)
			}
		default: // the bucket does not answer: the next step asks again
			asking = false
		}
	}
}

// find returns nil if a bucket has an object with its size and checksum. If the service knows no checksum, the tail is
// read and compared; the whole object was when it was stored.
func find(ctx context.Context, b bucket.Bucket, o *cold.Object) error {
	info, err := bucket.Check(ctx, b, o.Key, o.Meta.Bytes, o.Meta.FileCRC)
	if err != nil || info.Checked {
		return err
	}
	length := o.Meta.Bytes - o.TailOffset
	_, err = b.Range(ctx, o.Key, bucket.Range{
		Offset: o.TailOffset, Length: length, ObjectSize: o.Meta.Bytes,
		Parts: []bucket.Part{{Offset: o.TailOffset, Length: length, CRC: o.TailCRC}},
	})
	return err
}

// checkPlace returns an error if objects were stored for this shard, and the bucket has neither one of the newest of
// them nor any state of the shard. Then it is probably another place, to which nothing must be written, and in which
// nothing can be deleted.
func (m *Mover) checkPlace(ctx context.Context) error {
	m.placing.Lock()
	defer m.placing.Unlock()
	if m.placed {
		return nil
	}
	var newest []cold.Object
	m.cfg.Store.Status.Inspect(func(st *rules.State) {
		sets := st.Sets()
		for i := len(sets) - 1; i >= 0 && len(newest) < maxWitnesses; i-- {
			newest = append(newest, sets[i].Objects...)
		}
	})
	if len(newest) == 0 {
		return nil
	}
	newest = newest[:min(len(newest), maxWitnesses)]
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for i := range newest {
		_, err := m.cfg.Tier.Bucket.Head(ctx, newest[i].Key)
		if kind, _ := bucket.KindOf(err); err != nil && kind != bucket.NotFound {
			return err
		}
		if err == nil {
			m.placed = true
			return nil
		}
	}
	stored, err := m.place.Has(ctx, m.cfg.ShardID)
	if err != nil {
		return err
	}
	if !stored {
		return &bucket.Error{
			Kind: bucket.NotFound, Op: "use", At: m.cfg.Tier.Bucket.Location(),
			Err: fmt.Errorf("it has nothing of shard %d, of which objects were stored, for example %s; set "+
				"--object-storage-url to the place where they are", m.cfg.ShardID, newest[0].Key),
		}
	}
	m.placed = true
	return nil
}
