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

// lockKind is the use of the repository by the holder of a lock.
type lockKind string

const (
	lockWrite lockKind = "backup"  // adds content
	lockRead  lockKind = "restore" // reads content
	lockPrune lockKind = "prune"   // removes content, and excludes all other locks
)

const (
	// lockBeat is the interval at which a lock is renewed. lockDead is the time after its last renewal at which it
	// becomes void.
	lockBeat = time.Minute
	lockDead = 15 * time.Minute
)

// lock is an object in the repository that shows that a process uses it.
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

// lock locks the repository. A process first writes its lock and then reads the others, so at least
// one of two processes sees the other.
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

// clash returns ErrBusy if a valid lock excludes l. It measures ages by the clock of the repository's storage.
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
			// The process of this lock has ended, and its files do no harm.
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
		return fmt.Errorf("%w: %s; its lock was renewed %s ago: try again when it is done, or %s after that renewal "+
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

// isPrune reports whether a lock belongs to a prune. It also returns true if the lock cannot be read.
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

// keep renews the lock. If it fails to renew it for long, other processes ignore the lock. commit notices if a prune
// ran then.
func (l *lock) keep(ctx context.Context) {
	t := time.NewTicker(lockBeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			_ = l.write(ctx) // the next renewal may succeed
		}
	}
}

// release deletes the lock.
func (l *lock) release() {
	l.stop()
	l.done.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_ = l.r.store.Remove(ctx, l.name) // it becomes void by itself
}
