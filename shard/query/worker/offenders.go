package worker

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/lru"
)

// maxOffenders is how many users are remembered whose queries ran when a process ended.
const maxOffenders = 1024

// offenders are the users whose queries ran when a process broke down or had to be killed.
// A user whose queries were the only ones that it ever had is to blame. If there were others, it is not known
// whose query it was. Each of these users is watched: their queries run on a process of their own as long as
// others have queries too, so that the next time it is known. It is safe for concurrent use.
type offenders struct {
	now func() time.Time
	// most is how many ends a user may be to blame for within window, refuse for how long
	// their queries are refused after the last one.
	most           int
	window, refuse time.Duration
	log            *slog.Logger
	refusals       prometheus.Counter

	mu      sync.Mutex // guards what follows
	byShare *lru.Cache[string, *offender]
	// newest is the user who asked last, and other the last user before that who is another one.
	newest, other asker
}

// asker is a user who asked for a query.
type asker struct {
	share string
	at    time.Time
}

type offender struct {
	// ends are the times of those that the user is to blame for, as many as can matter.
	ends []time.Time
	// last is the time of the last end, whichever user caused it.
	last time.Time
}

func newOffenders(cfg Config, refusals prometheus.Counter) *offenders {
	return &offenders{
		now: time.Now, most: cfg.MaxKills, window: cfg.KillWindow, refuse: cfg.RefuseFor,
		log: cfg.Logger, refusals: refusals, byShare: lru.New[string, *offender](maxOffenders),
	}
}

// see notes that a user asks, and reports whether no other user has for a while.
func (o *offenders) see(share string) (alone bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.newest.share != share {
		o.other = o.newest
	}
	o.newest = asker{share: share, at: o.now()}
	return o.other.at.IsZero() || o.newest.at.Sub(o.other.at) > o.window
}

// check returns the error for a user whose queries are refused.
func (o *offenders) check(share string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.find(share)
	if found == nil {
		return nil
	}
	left := o.refuse - o.now().Sub(found.last)
	if len(o.recent(found)) < o.most || left <= 0 {
		return nil
	}
	o.refusals.Inc()
	left = max(left.Round(time.Second), time.Second)
	return errs.New(errs.RateLimited,
		"%d query processes had to be replaced within %s because of queries of %s, which are refused for %s; "+
			"find the statements that do not stop in time or end the process, and write them in another way",
		len(found.ends), o.window, share, left).WithRetryAfter(left)
}

// watched reports whether a user's queries run apart, and whether they are to blame for an end.
func (o *offenders) watched(share string) (apart, guilty bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.find(share)
	if found == nil || o.now().Sub(found.last) > o.window {
		return false, false
	}
	return true, len(o.recent(found)) > 0
}

// find returns what is known of a user, or nil. o.mu is held.
func (o *offenders) find(share string) *offender {
	f, _ := o.byShare.Peek(share)
	return f
}

// recent returns the ends within the window, and forgets the others. o.mu is held.
func (o *offenders) recent(f *offender) []time.Time {
	for len(f.ends) > 0 && o.now().Sub(f.ends[0]) > o.window {
		f.ends = f.ends[1:]
	}
	return f.ends
}

// note records that a process ended while a query of the user ran. The user is certainly the cause
// only if alone is set: no other user ever had a query there. A user who is not known has no
// blame.
func (o *offenders) note(share string, alone bool) {
	if share == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok := o.byShare.Get(share)
	if !ok {
		f = &offender{}
		o.byShare.Put(share, f, 1)
	}
	f.last = o.now()
	if !alone {
		o.log.Warn("query worker: queries of this user, among those of others, ran when a process ended; "+
			"they run apart for a while", "user", share, "for", o.window)
		return
	}
	f.ends = append(o.recent(f), f.last)
	if len(f.ends) > o.most {
		f.ends = f.ends[1:]
	}
	if len(f.ends) == o.most {
		o.log.Warn("query worker: too many processes ended because of queries of this user; they are refused for a while",
			"user", share, "count", len(f.ends), "for", o.refuse)
		return
	}
	o.log.Warn("query worker: a process ended because of a query of this user; their queries run apart for a while",
		"user", share, "count", len(f.ends), "for", o.window)
}
