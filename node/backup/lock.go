package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"cordwood/node/backup/store"
)

// lockKind says what the process that holds a lock does with the repository.
type lockKind string

const (
	lockWrite lockKind = "backup"  // adds content
	lockRead  lockKind = "restore" // reads content
	lockPrune lockKind = "prune"   // removes content: goes together with nothing
)

const (
	// lockBeat is how often a lock shows that its process lives, and lockDead how long
	// after its last sign of life it counts no more.
	lockBeat = time.Minute
	lockDead = 15 * time.Minute
)

// lock is the sign, in the repository, of a process that uses it.
type lock struct {
	Kind    lockKind  `json:"kind"`
	Host    string    `json:"host"`
	Process int       `json:"process"`
	Started time.Time `json:"started"`

	name string
	stop context.CancelFunc
	done sync.WaitGroup
	r    *Repository
}

func (l *lock) String() string {
	return fmt.Sprintf("a %s by process %d on %s, since %s", l.Kind, l.Process, l.Host, l.Started.Format(time.RFC3339))
}

// lock enters the repository. A process first writes its lock and then looks at the others, so at
// least one of two processes sees the other.
func (r *Repository) lock(ctx context.Context, kind lockKind) (*lock, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	l := &lock{Kind: kind, Host: host, Process: os.Getpid(), Started: r.now().UTC().Truncate(time.Second), r: r}
	l.name = lockPrefix + newID(r.now()) + lockSuffix
	if err := l.write(ctx); err != nil {
		return nil, fmt.Errorf("lock the repository: %w", err)
	}
	if err := r.clash(ctx, l); err != nil {
		return nil, errors.Join(err, r.store.Remove(context.WithoutCancel(ctx), l.name))
	}
	beat, stop := context.WithCancel(context.WithoutCancel(ctx))
	l.stop = stop
	l.done.Go(func() { l.keep(beat) })
	return l, nil
}

func (l *lock) write(ctx context.Context) error {
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return put(ctx, l.r.store, l.name, append(b, '\n'))
}

// clash returns ErrBusy if a living lock does not go together with l. Ages are measured by the
// repository's own clock.
func (r *Repository) clash(ctx context.Context, l *lock) error {
	var others []store.Object
	var now time.Time
	err := r.store.List(ctx, lockPrefix, func(o store.Object) error {
		if o.Name == l.name {
			now = o.Modified
		} else {
			others = append(others, o)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, o := range others {
		age := now.Sub(o.Modified)
		if age > lockDead {
			// Its process is gone, and its files disturb nothing.
			if l.Kind == lockPrune {
				if err := r.store.Remove(ctx, o.Name); err != nil {
					return err
				}
			}
			continue
		}
		if l.Kind != lockPrune && !r.isPrune(ctx, o.Name) {
			continue
		}
		return fmt.Errorf("%w: %s; its last sign of life is %s old: try again when it is done, or %s after that sign "+
			"if it was killed",
			ErrBusy, r.describe(ctx, o.Name), age.Round(time.Second), lockDead)
	}
	return nil
}

func (r *Repository) readLock(ctx context.Context, name string) (*lock, error) {
	b, err := readSmall(ctx, r.store, name, maxInfo)
	if err != nil {
		return nil, err
	}
	l := &lock{}
	return l, json.Unmarshal(b, l)
}

// isPrune also holds for a lock that cannot be read: it may be one.
func (r *Repository) isPrune(ctx context.Context, name string) bool {
	l, err := r.readLock(ctx, name)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	return err != nil || l.Kind == lockPrune
}

func (r *Repository) describe(ctx context.Context, name string) string {
	l, err := r.readLock(ctx, name)
	if err != nil {
		return strings.TrimPrefix(name, lockPrefix)
	}
	return l.String()
}

// keep writes the lock again and again. If it cannot be written for long, others take
// the process for dead; a prune in between is noticed when the manifest is written.
func (l *lock) keep(ctx context.Context) {
	t := time.NewTicker(lockBeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = l.write(ctx) // the next beat tries again
		}
	}
}

// release leaves the repository.
func (l *lock) release() {
	l.stop()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = l.r.store.Remove(ctx, l.name) // it dies by itself
}
