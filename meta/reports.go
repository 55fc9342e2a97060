package meta

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"cordwood/meta/catalog"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// reports has the newest reports of the nodes. Only the leader has them, in memory. A new leader
// receives reports of all nodes within about a second.
type reports struct {
	downAfter time.Duration
	now       func() time.Time

	mu   sync.Mutex // guards the rest
	term uint64     // the term in which they were received
	// began is when this member was first asked in this term.
	began time.Time
	// since is when this member started to listen: when it started to lead, or when it continued
	// after it had been suspended.
	since time.Time
	heard time.Time // time of the last call of any kind
	nodes map[string]nodeReport
	led   map[shardLife]ledShard
	// news is closed, and replaced, when a node reports for the first time in this term, and when a
	// shard gets its first leader.
	news chan struct{}
}

// changed returns a channel that is closed when a report changes something.
func (r *reports) changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.news == nil {
		r.news = make(chan struct{})
	}
	return r.news
}

// wake resumes the calls that wait for news. r.mu must be held.
func (r *reports) wake() {
	if r.news != nil {
		close(r.news)
		r.news = nil
	}
}

// shardLife identifies a shard from one creation to the next one under the same id.
type shardLife struct{ id, incarnation uint32 }

// stateLeader is the state that a shard's leading replica reports.
const stateLeader = "Leader"

// ledShard is the state of a shard's leader according to the reports.
type ledShard struct {
	node string
	term uint64
	// since is the time of the first report of this leader, last the time of the last one.
	since, last time.Time
}

type nodeReport struct {
	report *metapb.ReportRequest
	at     time.Time
	// refused is the reason why the node could not be registered. It is empty if it could be, or
	// did not try.
	refused string
}

// Limits of a report.
const (
	maxReplicaReports = 4096
	maxTableIngests   = 256
	maxAsideTables    = 64
)

// listen resets the record if the term has changed. It also does so if nothing was received for
// half of the time after which a node counts as down: as this node reports too, this process was
// suspended, and the silence of others means nothing. r.mu must be held.
func (r *reports) listen(term uint64) {
	now := r.now()
	if term != r.term || r.nodes == nil {
		r.term, r.began, r.since = term, now, now
		r.nodes, r.led = map[string]nodeReport{}, map[shardLife]ledShard{}
	} else if now.Sub(r.heard) > r.downAfter/2 {
		r.since = now
	}
	r.heard = now
}

// add processes a report.
func (r *reports) add(term uint64, req *metapb.ReportRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	n := r.nodes[req.NodeId]
	news := n.report == nil
	n.report, n.at = req, r.heard
	r.nodes[req.NodeId] = n
	for _, replica := range req.Replicas {
		if replica.GetState() == stateLeader {
			life := shardLife{replica.ShardId, replica.Incarnation}
			led := r.led[life]
			news = news || led.last.IsZero()
			if led.node != req.NodeId || led.term != replica.Term {
				led = ledShard{node: req.NodeId, term: replica.Term, since: r.heard}
			}
			led.last = r.heard
			r.led[life] = led
		}
	}
	if news {
		r.wake()
	}
}

// lastLed returns how long ago each shard was last reported to have a leader. Reports from before
// this member was suspended do not count.
func (r *reports) lastLed(term uint64, shards []*metapb.Shard) (out []*metapb.ShardLed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	known := make(map[shardLife]bool, len(shards))
	for _, s := range shards {
		life := shardLife{s.Id, s.Incarnation}
		known[life] = true
		led, last := r.led[life], r.since
		answer := &metapb.ShardLed{ShardId: s.Id}
		if led.last.After(last) {
			last = led.last
			answer.LedNanos = max(r.heard.Sub(led.since).Nanoseconds(), 1)
		}
		answer.SilentNanos = r.heard.Sub(last).Nanoseconds()
		out = append(out, answer)
	}
	for life := range r.led {
		if !known[life] {
			delete(r.led, life)
		}
	}
	return out
}

// stored returns the bytes of databases, as the nodes report them that lead their shards. Nodes that are silent do not
// count, because other nodes lead their shards by then.
func (r *reports) stored(term uint64) (out []*metapb.DatabaseBytes) {
	sums := r.sums(term, func(report *metapb.ReportRequest, add func(database string, n uint64)) {
		for _, s := range report.GetStored() {
			add(s.GetDatabase(), s.GetBytes())
		}
	})
	for _, database := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, &metapb.DatabaseBytes{Database: database, Bytes: sums[database]})
	}
	return out
}

// queryCPU returns the CPU time of the queries of databases in the last minute, as the nodes report it. Nodes that are
// silent do not count.
func (r *reports) queryCPU(term uint64) (out []*metapb.DatabaseCPU) {
	sums := r.sums(term, func(report *metapb.ReportRequest, add func(database string, n uint64)) {
		for _, s := range report.GetQueryCpu() {
			add(s.GetDatabase(), uint64(max(s.GetNanos(), 0)))
		}
	})
	for _, database := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, &metapb.DatabaseCPU{Database: database, Nanos: int64(sums[database])})
	}
	return out
}

// sums returns the sums by database of what read takes from the reports of the nodes that are not silent.
func (r *reports) sums(term uint64,
	read func(report *metapb.ReportRequest, add func(database string, n uint64)),
) map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	sums := map[string]uint64{}
	for _, n := range r.nodes {
		if r.heard.Sub(n.at) < r.downAfter {
			read(n.report, func(database string, n uint64) { sums[database] += n })
		}
	}
	return sums
}

// refuse records the reason why a node could not be registered. An empty reason records that it was
// registered.
func (r *reports) refuse(term uint64, node, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	n := r.nodes[node]
	n.refused = why
	r.nodes[node] = n
}

// leading returns the time since this member first noticed that it leads.
func (r *reports) leading(term uint64) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	return r.heard.Sub(r.began)
}

// status returns the state of the nodes, and how long this member has led.
func (r *reports) status(term uint64, nodes []*metapb.Node) (out []*metapb.NodeStatus, leading time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listen(term)
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[n.Id] = true
		had := r.nodes[n.Id]
		last := r.since
		if had.at.After(last) {
			last = had.at
		}
		silent := r.heard.Sub(last)
		out = append(out, &metapb.NodeStatus{
			Node: n, Report: had.report, SilentNanos: silent.Nanoseconds(), Down: silent >= r.downAfter, Refused: had.refused,
		})
	}
	for id := range r.nodes {
		if !known[id] {
			delete(r.nodes, id) // it was removed
		}
	}
	return out, r.heard.Sub(r.began)
}

// Report stores a node's report, and returns which nodes are down.
func (m *Meta) Report(ctx context.Context, req *metapb.ReportRequest) (*metapb.ReportResponse, error) {
	resp, err := m.report(ctx, req)
	return resp, errs.ToGRPC(err)
}

func (m *Meta) report(ctx context.Context, req *metapb.ReportRequest) (*metapb.ReportResponse, error) {
	term, err := m.leadTerm()
	if err != nil {
		return nil, err
	}
	if err := checkReport(req); err != nil {
		return nil, err
	}
	var nodes []*metapb.Node
	var lastTable uint64
	resp := &metapb.ReportResponse{}
	err = m.catalog.View(func(tx *catalog.Tx) (err error) {
		resp.ClusterVersion, lastTable = tx.ClusterVersion(), tx.Tables.LastID()
		nodes, err = tx.Nodes.All()
		return err
	})
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "store a report of node %s", req.NodeId)
	}
	if !slices.ContainsFunc(nodes, func(n *metapb.Node) bool { return n.Id == req.NodeId }) {
		return nil, errs.New(errs.InvalidArguments,
			"Report of node %s: it is not known to the cluster; it has to register first, which fails if it was removed",
			req.NodeId)
	}
	m.reports.add(term, req)
	m.raiseTableID(ctx, req, lastTable, resp.ClusterVersion)
	list, _ := m.reports.status(term, nodes)
	for _, n := range list {
		if n.Down {
			resp.Silent = append(resp.Silent, n.Node.Id)
		}
	}
	return resp, nil
}

// raiseTableID prevents table ids that shards have from being assigned again, in case the state has
// lost the commands that assigned them.
func (m *Meta) raiseTableID(ctx context.Context, req *metapb.ReportRequest, last uint64, version uint32) {
	highest := uint64(0)
	for _, r := range req.Replicas {
		highest = max(highest, r.HighestTableId)
	}
	if highest <= last || version < metapb.ProtocolMarks {
		return
	}
	m.cfg.Logger.Warn("a shard has a table with an id that was not assigned yet: the metadata has lost commands; new "+
		"ids start "+
		"behind it", "node", req.NodeId, "table", highest, "known", last)
	resp, err := m.propose(ctx, &metapb.Command{
		Op: &metapb.Command_RaiseCounters{RaiseCounters: &metapb.RaiseCounters{TableId: highest}},
	})
	if err == nil && resp.Result.GetErrorCode() != 0 {
		err = errs.New(errs.Code(resp.Result.ErrorCode), "%s", resp.Result.ErrorMessage)
	}
	if err != nil {
		m.cfg.Logger.Warn("could not raise the table ids; the next report causes another try", "error", err)
	}
}

func checkReport(req *metapb.ReportRequest) error {
	if err := checkText("node id", req.NodeId, true); err != nil {
		return err
	}
	if n := len(req.LeftShards); n > maxReplicaReports {
		// Leftover files must not make the rest of the report fail.
		req.LeftShards = req.LeftShards[:maxReplicaReports]
	}
	if n := len(req.Replicas); n > maxReplicaReports {
		return errs.New(errs.InvalidArguments, "Report of node %s: %d replicas, at most %d are possible", req.NodeId, n,
			maxReplicaReports)
	}
	for _, r := range req.Replicas {
		if n := len(r.Aside); n > maxAsideTables {
			return errs.New(errs.InvalidArguments,
				"Report of node %s, shard %d: %d tables with rows that cannot be written, at most %d are possible",
				req.NodeId, r.ShardId, n, maxAsideTables)
		}
		if n := len(r.Tables); n > maxTableIngests {
			return errs.New(errs.InvalidArguments, "Report of node %s, shard %d: %d tables, at most %d are possible",
				req.NodeId, r.ShardId, n, maxTableIngests)
		}
	}
	return nil
}

// leadTerm returns the term in which this member leads, or an error that contains the leader.
func (m *Meta) leadTerm() (uint64, error) {
	if err := m.replica.CheckLeads(); err != nil {
		return 0, err
	}
	if !m.replica.IsLeader() {
		return 0, errs.New(errs.ShardNotReady, "metadata group: node %s was elected and is not ready yet; try again",
			m.cfg.NodeID).
			WithLeader("").WithRetryAfter(50 * time.Millisecond)
	}
	return m.replica.Stats().Term, nil
}

// Status describes the group, the nodes by their reports, the shards and the operations.
func (m *Meta) Status(_ context.Context, _ *metapb.StatusRequest) (*metapb.StatusResponse, error) {
	resp, err := m.status()
	return resp, errs.ToGRPC(err)
}

func (m *Meta) status() (*metapb.StatusResponse, error) {
	term, err := m.leadTerm()
	if err != nil {
		return nil, err
	}
	stats := m.replica.Stats()
	resp := &metapb.StatusResponse{Leader: m.cfg.NodeID, Term: term, AppliedIndex: stats.AppliedIndex}
	var nodes []*metapb.Node
	err = m.catalog.View(func(tx *catalog.Tx) (err error) {
		resp.ClusterId, resp.ClusterVersion = tx.ClusterID(), tx.ClusterVersion()
		if resp.Settings, err = tx.Settings(); err != nil {
			return err
		}
		if nodes, err = tx.Nodes.All(); err != nil {
			return err
		}
		if resp.Shards, err = tx.Shards.All(); err != nil {
			return err
		}
		if resp.RetiredShards, err = tx.Shards.AllRetired(); err != nil {
			return err
		}
		resp.RetiredShards = slices.DeleteFunc(resp.RetiredShards, func(s *metapb.Shard) bool { return len(s.Removed) == 0 })
		resp.LastShardId = tx.Shards.LastID()
		resp.Operations, err = tx.Operations.All()
		return err
	})
	if err != nil {
		return nil, errs.Wrap(errs.Internal, err, "read the status of the cluster")
	}
	var leading time.Duration
	resp.Nodes, leading = m.reports.status(term, nodes)
	resp.LeadingNanos, resp.ShardsLed = leading.Nanoseconds(), m.reports.lastLed(term, resp.Shards)
	for _, member := range stats.Members {
		silent := member.Silent.Nanoseconds()
		if member.Silent < 0 {
			silent = -1
		}
		resp.Members = append(resp.Members, &metapb.MemberStatus{
			NodeId: member.NodeID, Voter: member.Voter, SilentNanos: silent,
			Lag: stats.LastIndex - min(stats.LastIndex, member.LastIndex),
		})
	}
	return resp, nil
}
