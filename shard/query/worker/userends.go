package worker

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
)

const (
	// maxUserRecords is the maximum number of users with a record.
	maxUserRecords = 1024
	// leftPause is how long the queries of a user are refused after a client left a query that did not stop, if that
	// happened often.
	leftPause = 5 * time.Second
)

// userEnds records the users whose queries ran when a process crashed or had to be killed. If a process only ever
// had queries of one user, this user caused the end. If it had queries of several users, the cause is unknown, and
// each of them is watched: while other users also have queries, the queries of a watched user run in a separate
// process, so that the next end shows the cause. It is safe for concurrent use.
type userEnds struct {
	now func() time.Time
	// most is the number of process ends within window that a user may cause. After more, the user's queries are
	// refused for the time refuse after the last end.
	most           int
	window, refuse time.Duration
	log            *slog.Logger
	refusals       prometheus.Counter

	mu      sync.Mutex // guards the fields below
	byShare *lru.Cache[string, *userRecord]
	// newest is the user who asked last. other is the last different user before.
	newest, other asker
}

// asker is a user who sent a query.
type asker struct {
	share string
	at    time.Time
}

type userRecord struct {
	// ends are the times of the ends that the user caused. left are the times of those that were necessary because a
	// client left. Old ones are dropped.
	ends, left []time.Time
	// last is the time of the last end, whichever user caused it.
	last time.Time
}

func newUserEnds(cfg Config, refusals prometheus.Counter) *userEnds {
	return &userEnds{
		now: time.Now, most: cfg.MaxKills, window: cfg.KillWindow, refuse: cfg.RefuseFor,
		log: cfg.Logger, refusals: refusals, byShare: lru.New[string, *userRecord](maxUserRecords),
	}
}

// recordQuery records that a user sent a query. It reports whether no other user has sent one for a while.
func (o *userEnds) recordQuery(share string) (alone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest.share != share {
		o.other = o.newest
	}
	o.newest = asker{share: share, at: o.now()}
	return o.other.at.IsZero() || o.newest.at.Sub(o.other.at) > o.window
}

// check returns the error for a user whose queries are refused.
func (o *userEnds) check(share string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.find(share)
	if found == nil {
		return nil
	}
	if wait := o.refuse - o.now().Sub(found.last); len(o.recent(&found.ends)) >= o.most && wait > 0 {
		o.refusals.Inc()
		wait = max(wait.Round(time.Second), time.Second)
		return errs.New(errs.RateLimited,
			"%d query processes had to be replaced within %s because of queries of %s; queries of this user are refused for "+
				"%s; "+
				"find the statements that do not stop in time or end the process, and write them in another way",
			len(found.ends), o.window, share, wait).WithRetryAfter(wait)
	}
	if left := o.recent(&found.left); len(left) >= o.most {
		if wait := leftPause - o.now().Sub(left[len(left)-1]); wait > 0 {
			o.refusals.Inc()
			wait = max(wait.Round(time.Second), time.Second)
			return errs.New(errs.RateLimited,
				"%d queries of %s did not stop within %s when their clients left, and their processes had to be replaced; try "+
					"again in %s", len(left), share, o.window, wait).WithRetryAfter(wait)
		}
	}
	return nil
}

// watched reports whether a user's queries run in a separate process, and whether the user is to
// blame for an end.
func (o *userEnds) watched(share string) (apart, guilty bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.find(share)
	if found == nil || o.now().Sub(found.last) > o.window {
		return false, false
	}
	return true, len(o.recent(&found.ends))+len(o.recent(&found.left)) > 0
}

// find returns the record of a user, or nil. o.mu must be held.
func (o *userEnds) find(share string) *userRecord {
	f, _ := o.byShare.Peek(share)
	return f
}

// recent drops the times that are not within the window, and returns the others. o.mu must be held.
func (o *userEnds) recent(times *[]time.Time) []time.Time {
	for len(*times) > 0 && o.now().Sub((*times)[0]) > o.window {
		*times = (*times)[1:]
	}
	return *times
}

// recordKill records that a query of the user did not stop, and that the user is not to blame. The user's queries run
// in a separate process for a while, because the next query may not stop either, but the end does not count against
// the user.
func (o *userEnds) recordKill(share string) {
	if share == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.record(share).last = o.now()
}

// recordLeft records that a process had to be replaced because a query of the user did not stop when its client left.
func (o *userEnds) recordLeft(share string) {
	if share == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.record(share)
	f.last = o.now()
	o.add(&f.left, f.last)
}

// add adds a time to the newest ones. o.mu must be held.
func (o *userEnds) add(times *[]time.Time, at time.Time) {
	*times = append(o.recent(times), at)
	if len(*times) > o.most {
		*times = (*times)[1:]
	}
}

// record returns the record of a user, which it creates if necessary. o.mu must be held.
func (o *userEnds) record(share string) *userRecord {
	f, ok := o.byShare.Get(share)
	if !ok {
		f = &userRecord{}
		o.byShare.Put(share, f, 1)
	}
	return f
}

// recordEnd records that a process ended while a query of the user ran. alone means that no other user
// ever had a query in the process, so that the user is certainly the cause. A user without a name
// is never blamed.
func (o *userEnds) recordEnd(share string, alone bool) {
	if share == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.record(share)
	f.last = o.now()
	if !alone {
		o.log.Warn("query worker: queries of this user and of others ran when a process ended; "+
			"queries of this user run in a separate process for a while", "user", share, "for", o.window)
		return
	}
	o.add(&f.ends, f.last)
	if len(f.ends) == o.most {
		o.log.Warn("query worker: too many processes ended because of queries of this user; its queries are refused for a "+
			"while",
			"user", share, "count", len(f.ends), "for", o.refuse)
		return
	}
	o.log.Warn("query worker: a process ended because of a query of this user; its queries run in a separate process "+
		"for a while",
		"user", share, "count", len(f.ends), "for", o.window)
}
