package states

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"cordwood/shard/cold/bucket"
)

// Owner is the cluster that was made anew from the states of another one, and so owns its objects.
type Owner struct {
	Epoch   uint64    `json:"epoch"`
	Cluster string    `json:"cluster"`
	Since   time.Time `json:"since"`
}

// ErrNotOwner is the error of a cluster whose objects another cluster owns.
type ErrNotOwner struct{ Owner Owner }

// Error names the owner.
func (e *ErrNotOwner) Error() string {
	return fmt.Sprintf("cluster %s was made from the objects of this one on %s, and owns them: this cluster stores no "+
		"states and deletes no objects; stop it", e.Owner.Cluster, e.Owner.Since.UTC().Format(time.RFC3339))
}

// Alive is what a running cluster notes about itself in the bucket.
type Alive struct {
	Written time.Time `json:"written"`
	// Every is how often it is written, in seconds.
	Every float64 `json:"every_seconds"`
}

// Until returns when the cluster counts as lost, unless it writes again.
func (a Alive) Until() time.Time {
	return a.Written.Add(time.Duration(2*a.Every*float64(time.Second)) + time.Minute)
}

// maxNote is the maximum size of the notes in the bucket.
const maxNote = 64 << 10

func (p Place) aliveKey() string { return p.Cluster + "/state/alive.json" }

func (p Place) ownerPrefix() string { return p.Cluster + "/owner/" }

// SetAlive notes that the cluster runs.
func (p Place) SetAlive(ctx context.Context, a Alive) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	c := content(b)
	c.Replace = true
	return p.Bucket.Put(ctx, p.aliveKey(), c)
}

// Alive returns the note of SetAlive; zero if there is none.
func (p Place) Alive(ctx context.Context) (a Alive, err error) {
	return a, p.note(ctx, p.aliveKey(), &a)
}

// Owner returns the cluster that owns the objects, or nil if it is the cluster of the place.
func (p Place) Owner(ctx context.Context) (*Owner, error) {
	var last string
	err := p.Bucket.List(ctx, p.ownerPrefix(), func(i bucket.Info) error {
		last = max(last, i.Key)
		return nil
	})
	if err != nil || last == "" {
		return nil, err
	}
	o := &Owner{}
	return o, p.note(ctx, last, o)
}

// CheckOwner returns an *ErrNotOwner if another cluster owns the objects.
func (p Place) CheckOwner(ctx context.Context) error {
	o, err := p.Owner(ctx)
	if err == nil && o != nil {
		err = &ErrNotOwner{*o}
	}
	return err
}

// TakeOver makes a cluster the owner of the objects. before is the result of Owner. If another cluster has become the
// owner since, it fails with bucket.ErrExists.
func (p Place) TakeOver(ctx context.Context, cluster string, before *Owner, now time.Time) error {
	o := Owner{Epoch: 1, Cluster: cluster, Since: now.UTC()}
	if before != nil {
		o.Epoch = before.Epoch + 1
	}
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return p.Bucket.Put(ctx, fmt.Sprintf("%s%020d.json", p.ownerPrefix(), o.Epoch), content(b))
}

// note reads a small JSON object. A missing one leaves v unchanged.
func (p Place) note(ctx context.Context, key string, v any) error {
	b, err := bucket.ReadAll(ctx, p.Bucket, key, maxNote)
	if errors.Is(err, bucket.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s/%s: %w", p.Bucket.Location(), key, err)
	}
	return nil
}

// IsNotOwner reports whether an error means that another cluster owns the objects.
func IsNotOwner(err error) bool {
	e := (*ErrNotOwner)(nil)
	return errors.As(err, &e)
}
