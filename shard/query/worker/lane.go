package worker

import (
	"context"
	"time"

	"cordwood/proto/errs"
)

// maxApart is the maximum number of separate processes for watched users.
const maxApart = 2

// maxDraining is how many processes that are being replaced may continue with their other queries.
const maxDraining = 2

// apartNice is added to the niceness of the separate processes.
const apartNice = 5

// lane is a place for a process that takes queries. The main lane is for all users. A separate lane
// is for one watched user at a time. Worker.mu guards its fields except apart.
type lane struct {
	apart bool
	// current takes new queries. If it is nil, the next query starts it.
	current *process
	// owner is the user whose queries a separate lane takes, or took last. users is the number of
	// running queries.
	owner string
	users int
}

// lane returns the lane for queries of a user; leave ends the query. A watched user who is to blame
// for the end of a process waits for a separate lane. Another watched user gets the main lane if no
// separate lane is free.
func (w *Worker) lane(ctx context.Context, share string) (l *lane, leave func(), err error) {
	together := func() {}
	alone := w.userEnds.recordQuery(share)
	apart, guilty := w.userEnds.watched(share)
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
				"queries of %s run in a separate process because one of them did not stop or crashed its process; no separate "+
					"process became free within "+
					"%s; try again later", share, w.cfg.MaxWait).WithRetryAfter(time.Second)
		case <-ctx.Done():
			return nil, nil, contextError(ctx)
		}
	}
}

// laneApart returns the user's separate lane, or a free one. It also returns the process of another
// user that has to leave the lane. w.mu must be held.
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

// leaveLane ends a query in a separate lane.
func (w *Worker) leaveLane(l *lane) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.users--; l.users == 0 {
		close(w.freed) // wake up the queries that wait for a lane
		w.freed = make(chan struct{})
	}
}

// drain lets the other queries of a process continue for Config.Drain. If there are too many such
// processes, the one that has been draining longest is killed.
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
		w.log.Warn("query worker: too many processes are being replaced; killed the oldest of them", "pid",
			oldest.processID())
		oldest.kill()
	}
	time.AfterFunc(w.cfg.Drain, p.kill)
}
