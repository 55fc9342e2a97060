package worker

import (
	"context"
	"time"

	"cordwood/proto/errs"
)

// maxApart is how many processes there are at a time for users who are watched.
const maxApart = 2

// maxDraining is how many processes that are to go may live on for their other queries.
const maxDraining = 2

// apartNice is by how much processes apart give way to the one of all others.
const apartNice = 5

// lane is a place for a process that takes queries. The main one is for everybody, those
// apart for one watched user at a time. Worker.mu guards its fields but apart.
type lane struct {
	apart bool
	// current takes new queries; nil: the next one starts it.
	current *process
	// owner is the user whose queries a lane apart takes, or took last; users are the users that it has.
	owner string
	users int
}

// lane returns the lane for queries of a user; leave ends the query. A
// watched user who is to blame for the end of a process waits for a lane apart. If no lane
// apart is free, a watched user who is not known to be to blame gets the main lane.
func (w *Worker) lane(ctx context.Context, share string) (l *lane, leave func(), err error) {
	together := func() {}
	alone := w.offenders.see(share)
	apart, guilty := w.offenders.watched(share)
	if share == "" || !apart || alone {
		return &w.main, together, nil
	}
	timer := time.NewTimer(w.cfg.MaxWait)
	defer timer.Stop()
	for {
		w.mu.Lock()
		l, old := w.laneApart(share)
		freed := w.freed
		w.mu.Unlock()
		if old != nil {
			go old.end() // no query runs on it
		}
		switch {
		case l != nil:
			return l, func() { w.leaveLane(l) }, nil
		case !guilty:
			return &w.main, together, nil
		}
		select {
		case <-freed:
		case <-timer.C:
			return nil, nil, errs.New(errs.ShardBusy,
				"queries of %s run apart, because of one that did not stop or ended its process, and there was no room within "+
					"%s; try again later", share, w.cfg.MaxWait).WithRetryAfter(time.Second)
		case <-ctx.Done():
			return nil, nil, contextError(ctx)
		}
	}
}

// laneApart takes a place in the user's lane, or in a free one, and returns the process
// of another user that has to leave that one. w.mu is held.
func (w *Worker) laneApart(share string) (l *lane, old *process) {
	for i := range w.apart {
		of := &w.apart[i]
		switch {
		case of.owner == share:
			of.users++
			return of, nil
		case of.users == 0 && (l == nil || of.owner == ""):
			l = of
		}
	}
	if l == nil {
		return nil, nil
	}
	old, l.current = l.current, nil
	l.owner, l.users = share, 1
	if old != nil {
		old.mu.Lock()
		old.leaving = true
		old.mu.Unlock()
	}
	return l, old
}

// leaveLane gives back a place in a lane apart.
func (w *Worker) leaveLane(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.users--; l.users == 0 {
		close(w.freed) // whoever waits looks again
		w.freed = make(chan struct{})
	}
}

// drain lets the other queries of a process that is to continue for Config.Drain, unless
// there are too many such processes: then that which has had most of its time goes.
func (w *Worker) drain(p *process) {
	w.mu.Lock()
	w.draining = append(w.draining, p)
	var oldest *process
	if len(w.draining) > maxDraining {
		oldest = w.draining[0]
		w.draining = w.draining[1:]
	}
	w.mu.Unlock()
	if oldest != nil {
		w.log.Warn("query worker: too many processes are to go; the one that has been longest is killed", "pid",
			oldest.processID())
		oldest.kill()
	}
	time.AfterFunc(w.cfg.Drain, p.kill)
}
