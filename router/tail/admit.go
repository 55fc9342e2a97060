package tail

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
)

// tenant counts the tails of a database.
type tenant struct{ open, waiting int }

const (
	// quotaWait is how long a tail waits for its database's quota. Routers share the quota, and the part of this router
	// becomes larger with the next two reports, unless all of the quota is in use. lookAgain is how often it looks.
	quotaWait = 2 * time.Second
	lookAgain = 50 * time.Millisecond
	// tryAgain is when a client may try again after a refusal.
	tryAgain = 5 * time.Second
)

// enter counts a session as open, and towards the shares of its user and its database. It waits for a moment if the
// quota of the database is used up.
func (h *Handler) enter(ctx context.Context, s *session, share string) error {
	admitted, err := h.take(s, share)
	if err != nil || admitted {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, quotaWait)
	defer cancel()
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return h.giveUp(ctx, s)
		case <-tick.C:
			if h.promote(s) {
				return nil
			}
		}
	}
}

// take counts a session. It returns false if the session has to wait for the quota of its database; it counts as open
// for its user meanwhile.
func (h *Handler) take(s *session, share string) (admitted bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.databases[s.def.Database]
	reserved := h.reserved()
	switch {
	case h.closed:
		return false, errStopping
	case len(h.open) >= h.cfg.MaxOpen:
		return false, errs.New(errs.RateLimited, "%s open, and --max-tails allows no more; end one, "+
			"or try again later",
			words.Say(len(h.open), "tail is", "tails are")).WithRetryAfter(tryAgain)
	case h.shares[share] >= h.cfg.MaxOpenPerUser:
		return false, errs.New(errs.RateLimited, "%s open, and no more are allowed for one "+
			"(--max-tails-per-user); end one, or try again later",
			words.Say(h.shares[share], "tail of this user is", "tails of this user are")).WithRetryAfter(tryAgain)
	case d != nil && len(h.open) >= h.cfg.MaxOpen-reserved:
		return false, errs.New(errs.RateLimited, "%s open, and the last %d of --max-tails are for databases without tails; "+
			"end one, or try again later", words.Say(len(h.open), "tail is", "tails are"), reserved).WithRetryAfter(tryAgain)
	}
	if d == nil {
		d = &tenant{}
		h.databases[s.def.Database] = d
	}
	h.open[s] = share
	h.shares[share]++
	if admitted = h.free(s.def.Database, d); admitted {
		d.open++
	} else {
		d.waiting++
		s.waits = true
	}
	return admitted, nil
}

// reserved returns how many tails are reserved for databases without tails: an eighth, if there are several databases.
// h.mu must be held.
func (h *Handler) reserved() int {
	users := 0
	for _, d := range h.cfg.Meta.Databases() {
		if !schema.ReservedDatabase(d.GetName()) {
			users++
		}
	}
	if users < 2 {
		return 0
	}
	return h.cfg.MaxOpen / 8
}

// free reports whether the quota of a database has room for another tail. h.mu must be held.
func (h *Handler) free(database string, d *tenant) bool {
	if h.cfg.Quotas == nil {
		return true
	}
	limit, limited := h.cfg.Quotas.TailLimit(database)
	return !limited || d.open < limit
}

// promote admits a waiting session if the quota has room for it.
func (h *Handler) promote(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	d := h.databases[s.def.Database]
	if !h.free(s.def.Database, d) {
		return false
	}
	s.waits = false
	d.waiting--
	d.open++
	return true
}

// giveUp returns the error of a session that waited in vain.
func (h *Handler) giveUp(ctx context.Context, s *session) error {
	h.leave(s)
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return cause
	}
	return h.cfg.Quotas.OverTails(s.def.Database)
}

// leave no longer counts a session.
func (h *Handler) leave(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	share := h.open[s]
	delete(h.open, s)
	if h.shares[share]--; h.shares[share] <= 0 {
		delete(h.shares, share)
	}
	d := h.databases[s.def.Database]
	if s.waits {
		d.waiting--
	} else {
		d.open--
	}
	if d.open == 0 && d.waiting == 0 {
		delete(h.databases, s.def.Database)
	}
}

// Open returns the number of open tails.
func (h *Handler) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.open)
}

// Running calls each with the numbers of open and waiting tails of each database.
func (h *Handler) Running(each func(database string, running, waiting int)) {
	h.mu.Lock()
	counts := make(map[string]tenant, len(h.databases))
	for database, d := range h.databases {
		counts[database] = *d
	}
	h.mu.Unlock()
	for database, d := range counts {
		each(database, d.open, d.waiting)
	}
}
