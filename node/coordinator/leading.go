package coordinator

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"cordwood/node/coordinator/snapshot"
)

// leading is the state of one term as leader. Only the goroutine of lead uses it.
type leading struct {
	*Coordinator
	wg       sync.WaitGroup
	outcomes chan outcome
	busy     map[uint64]bool // operations with a call in flight; automaticID is the cluster's own work
	failures map[uint64]*failure
	answered map[uint32]snapshot.Membership
	copies   map[uint64]map[uint32]snapshot.Copy // by id of the copy
	meter    *meter
	hotSince map[uint64]time.Time
	// closedSince is when this leader first saw that a table is closed in its epoch. unchangedSince is when it first
	// saw a version of an operation. pairedSince is when it promoted a second voter. emptySince is when it first saw
	// that a retiring shard has no table.
	closedSince, unchangedSince, pairedSince, emptySince map[version]time.Time

	nextIceberg time.Time // when Iceberg tables are committed again
	nextSizes   time.Time // when sizes are checked again
	// tooLarge says by table, and for all tables by "", that the newest files alone exceed the limit. Only one check of
	// sizes uses it at a time.
	tooLarge map[string]bool

	began       time.Time
	nodes       string // nodes that hold shards and answer, as one text
	stableSince time.Time
	statusError string // the last error, so that it is logged once
}

// version identifies one version of an object in the metadata.
type version struct {
	id      uint64
	version uint32
}

// automaticID is the id of the cluster's own work that is not an operation.
const automaticID = 0

// failure counts the consecutive failures of an operation's calls.
type failure struct {
	err   error
	count int
	until time.Time
}

// outcome is the result of a call.
type outcome struct {
	id    uint64
	err   error
	shard uint32 // 0 if the call is about no shard
	group snapshot.Membership
	// copy and answer are the answer about a copy of a table.
	copy   uint64 // 0 if there is none
	copies map[uint32]snapshot.Copy
}

func (l *leading) begin(ctx context.Context, id uint64, f func(context.Context) outcome) {
	l.busy[id] = true
	l.wg.Go(func() {
		call, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
		defer cancel()
		o := f(call)
		o.id = id
		select {
		case l.outcomes <- o:
		case <-ctx.Done():
		}
	})
}

// maxPause is the maximum pause after failed calls.
const maxPause = 10 * time.Second

// take records the result of a call.
func (l *leading) take(o outcome) {
	delete(l.busy, o.id)
	if o.shard != 0 {
		l.answered[o.shard] = o.group
	}
	if o.copy != 0 {
		answers := maps.Clone(l.copies[o.copy])
		if answers == nil {
			answers = map[uint32]snapshot.Copy{}
		}
		maps.Copy(answers, o.copies)
		l.copies[o.copy] = answers
	}
	if o.err == nil {
		delete(l.failures, o.id)
		return
	}
	f := l.failures[o.id]
	if f == nil {
		f = &failure{}
		l.failures[o.id] = f
	}
	f.err = o.err
	f.count++
	f.until = time.Now().Add(min(250*time.Millisecond<<min(f.count-1, 8), maxPause))
}

// errLost means that another process has changed the record in the meantime.
var errLost = errors.New("the operation was changed meanwhile")
