// Package shares divides quotas among routers, by their reports of what clients send to each. The leader of the
// metadata group does this, in memory: a new leader has the reports of all routers within a second.
package shares

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

const (
	// Valid is how long shares are valid. A router that has not reported for this long has none.
	Valid = 2 * time.Second
	// maxUses limits the uses of one report.
	maxUses = 100_000
)

// Quota identifies a quota of a database.
type Quota struct{ Database, Name string }

// Reports has the newest reports of the routers. Its zero value has none. It is safe for concurrent use.
type Reports struct {
	mu      sync.Mutex // guards the rest
	term    uint64     // the term in which they were received
	routers map[string]*report
	limits  map[Quota]since // of things at a time
}

// since is when a limit was first divided.
type since struct {
	limit uint64
	at    time.Time
}

// report is the newest report of a router.
type report struct {
	at   time.Time
	uses map[Quota]use
	// granted has the slots of its last two answers. The router may still have used the older one when it made this
	// report.
	granted [2]map[Quota]float64
}

// held returns the slots that the router may use by its answers.
func (r *report) held(quota Quota) float64 { return max(r.granted[0][quota], r.granted[1][quota]) }

// Check returns an error if a report is too large.
func Check(req *metapb.ShareQuotasRequest) error {
	if n := len(req.Uses); n > maxUses {
		return errs.New(errs.InvalidArguments, "Use of quotas by node %s: %d of them, at most %d are possible", req.NodeId,
			n, maxUses)
	}
	return nil
}

// Divide stores a report of a router, and returns its shares of the limits. Reports of an earlier term are forgotten.
func (s *Reports) Divide(
	term uint64, now time.Time, req *metapb.ShareQuotasRequest, limits map[Quota]uint64,
) *metapb.ShareQuotasResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	if term != s.term || s.routers == nil {
		s.term, s.routers, s.limits = term, map[string]*report{}, map[Quota]since{}
	}
	mine := &report{at: now, uses: make(map[Quota]use, len(req.Uses))}
	for _, u := range req.Uses {
		mine.uses[Quota{u.GetDatabase(), u.GetName()}] = use{admitted: u.GetAdmitted(), refused: u.GetRefused()}
	}
	mine.granted[0] = map[Quota]float64{}
	if last := s.routers[req.NodeId]; last != nil {
		mine.granted[1] = last.granted[0]
	}
	s.routers[req.NodeId] = mine
	nodes := s.present(now)
	at, _ := slices.BinarySearch(nodes, req.NodeId)
	resp := &metapb.ShareQuotasResponse{ValidNanos: int64(Valid), Routers: uint32(len(nodes))} //nolint:gosec // few
	uses := make([]use, len(nodes))
	for quota, limit := range limits {
		total := 0.0
		for i, node := range nodes {
			uses[i] = s.routers[node].uses[quota]
			uses[i].held = s.routers[node].held(quota)
			total += uses[i].sent()
		}
		share := divide(float64(limit), uses)[at]
		if quota.Name == schema.QuotaQueries || quota.Name == schema.QuotaTails {
			share, total = float64(slots(limit, uses)[at]), running(uses)
			if s.isNew(quota, limit, now) {
				share = min(share, max(uses[at].admitted, 1))
			}
			mine.granted[0][quota] = share
		}
		resp.Shares = append(resp.Shares, &metapb.QuotaShare{
			Database: quota.Database, Name: quota.Name, Share: share, Value: total,
			Limit: float64(limit),
		})
	}
	slices.SortFunc(resp.Shares, func(a, b *metapb.QuotaShare) int {
		return cmp.Or(cmp.Compare(a.Database, b.Database), cmp.Compare(a.Name, b.Name))
	})
	return resp
}

// isNew reports whether a limit of things at a time has been divided for less than Valid. Not all routers have reported
// yet, and those without an answer use an equal part. So nobody gets more than it already uses, or one. s.mu must be
// held.
func (s *Reports) isNew(quota Quota, limit uint64, now time.Time) bool {
	known, ok := s.limits[quota]
	if !ok || known.limit != limit {
		known = since{limit, now}
		s.limits[quota] = known
	}
	return now.Sub(known.at) < Valid
}

// present returns the routers that have reported lately, and forgets the others. s.mu must be held.
func (s *Reports) present(now time.Time) (nodes []string) {
	for node, r := range s.routers {
		if now.Sub(r.at) > Valid {
			delete(s.routers, node)
			continue
		}
		nodes = append(nodes, node)
	}
	slices.Sort(nodes)
	return nodes
}
