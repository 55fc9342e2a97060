package shard

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/shardpb"
	"cordwood/shard/cold"
	"cordwood/shard/replica"
	"cordwood/shard/rules"
	"cordwood/shard/store"
)

// Change changes the members of the shard's group, or its leader; see replica.Replica.Change.
//
// Before the first further replica is added, rows of tables with skip_wal are made durable and the
// log is cut, so that the new replica gets them with the segments. From then on such rows go
// through the log like all others.
func (s *Shard) Change(ctx context.Context, kind replica.ChangeKind, node string) error {
	select {
	case s.changing <- struct{}{}:
		defer func() { <-s.changing }()
	case <-ctx.Done():
		return errs.Wrap(errs.ShardNotReady, ctx.Err(),
			"shard %d: %s, node %s: another change of the members is under way; nothing was changed", s.cfg.ID, kind,
			node).WithReason(errs.Busy).WithRetryAfter(time.Second)
	}
	if kind == replica.AddLearner && s.replica.SoleMember() && node != s.cfg.NodeID {
		if err := s.endUnlogged(ctx); err != nil {
			return errs.Wrap(errs.ShardNotReady, err, "shard %d: %s, node %s: make the rows durable that are not in the "+
				"log", s.cfg.ID, kind,
				node).WithReason(errs.Busy).WithRetryAfter(time.Second)
		}
	}
	err := s.replica.Change(ctx, kind, node)
	if err == nil && s.replica.SoleMember() {
		s.store.Tables.RequireLog(false)
	}
	return err
}

// endUnlogged sends all further rows through the log, and makes the rows durable that bypassed it.
func (s *Shard) endUnlogged(ctx context.Context) error {
	if err := s.replica.CheckLeads(); err != nil {
		return err
	}
	s.store.Tables.RequireLog(true)
	// A snapshot needs an applied entry, and there may be none without this one.
	e := rules.Entry{Kind: rules.KindWrite, Time: s.clock.entryTime()}
	if _, err := s.replica.Propose(ctx, rules.AppendEntry(nil, &e)); err != nil {
		return err
	}
	return s.Flush(ctx)
}

// StepDown transfers leadership to another voting replica, if this one leads and there is one; see
// replica.Replica.StepDown.
func (s *Shard) StepDown(ctx context.Context, avoid ...string) error {
	return s.replica.StepDown(ctx, avoid...)
}

// StepDownUnreachable is like StepDown, for a replica whose node other nodes cannot reach; see
// replica.Replica.StepDownUnreachable.
func (s *Shard) StepDownUnreachable(ctx context.Context, avoid ...string) error {
	return s.replica.StepDownUnreachable(ctx, avoid...)
}

// Leads reports whether this replica leads the shard and has applied all that was
// committed before it did.
func (s *Shard) Leads() bool { return s.replica.IsLeader() }

// LeadsChanged returns a channel that is closed when the result of Leads changes.
func (s *Shard) LeadsChanged() <-chan struct{} { return s.replica.LeadsChanged() }

// Leader returns the node id of the leading replica as far as this replica knows it, or an empty
// text.
func (s *Shard) Leader() string { return s.replica.Leader() }

// Incarnation returns the incarnation of the shard's group.
func (s *Shard) Incarnation() uint32 { return s.cfg.Incarnation }

// ReadBarrier returns an index of the shard's log. A replica that has applied this index has all
// rows that were acknowledged before the call; the leader has applied it when ReadBarrier returns. Only
// the leader can answer; on other replicas the reason of the error is NotLeader.
func (s *Shard) ReadBarrier(ctx context.Context) (index uint64, err error) {
	index, _, err = s.replica.ReadIndex(ctx)
	return index, err
}

// askProgress asks the leader, which is on another node, how far the group is.
func (s *Shard) askProgress(ctx context.Context) (replica.Progress, error) {
	failed := fmt.Errorf("shard %d is placed on no other node", s.cfg.ID)
	for _, node := range s.cfg.Members() {
		if node == s.cfg.NodeID {
			continue
		}
		conn, err := s.cfg.Peers(node)
		if err != nil {
			failed = err
			continue
		}
		limited, cancel := context.WithTimeout(ctx, time.Second) // the next one may lead
		resp, err := shardpb.NewShardServiceClient(conn).ReadBarrier(limited, &shardpb.ReadBarrierRequest{ShardId: s.cfg.ID})
		cancel()
		if err == nil && resp.Incarnation != 0 && resp.Incarnation != s.cfg.Incarnation {
			err = fmt.Errorf("node %s leads incarnation %d of shard %d, and this replica belongs to incarnation %d", node,
				resp.Incarnation, s.cfg.ID, s.cfg.Incarnation)
		}
		if err == nil {
			return replica.Progress{Term: resp.Term, Index: resp.Committed}, nil
		}
		failed = err
	}
	return replica.Progress{}, failed
}

// WaitApplied waits until this replica has applied an index that Write or ReadBarrier returned on
// any node.
func (s *Shard) WaitApplied(ctx context.Context, index uint64) error {
	return s.replica.WaitApplied(ctx, index)
}

// diskHandover is how long a leader whose disk is full waits before it transfers leadership again:
// if all disks are full, another transfer does not help.
const diskHandover = time.Minute

// watchDisk makes a leader transfer leadership if its disk is full up to the reserve, because it
// would refuse all rows.
func (s *Shard) watchDisk() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var last time.Time
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
		}
		if s.cfg.Space() != store.SpaceFull || !s.replica.IsLeader() || s.replica.SoleVoter() ||
			!last.IsZero() && s.cfg.Now().Sub(last) < diskHandover {
			continue
		}
		last = s.cfg.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		if err := s.StepDown(ctx); err != nil {
			s.cfg.Logger.Warn("the disk is full up to its reserve, and leadership could not be transferred", "error", err)
		} else {
			s.cfg.Logger.Warn("the disk is full up to its reserve: leadership was transferred")
		}
		cancel()
	}
}

// busiestTables is the maximum number of tables in the statistics of a report.
const busiestTables = 16

// reportedDamage is the maximum number of damaged segments in a report.
const reportedDamage = 8

// Report describes the state of this replica.
func (s *Shard) Report() *metapb.ReplicaReport {
	r := s.replica.Stats()
	out := &metapb.ReplicaReport{
		ShardId: s.cfg.ID, Incarnation: s.cfg.Incarnation, State: r.State, Leader: r.Leader, Term: r.Term,
		LastIndex: r.LastIndex, CommitIndex: r.KnownCommit, LogBytes: r.LogBytes, CaughtUp: r.CaughtUp,
		IngestedBytes: s.store.Tables.Ingested.Total.Load(),
	}
	for _, m := range r.Members {
		if m.Voter {
			out.Voters = append(out.Voters, m.NodeID)
		} else {
			out.Learners = append(out.Learners, m.NodeID)
		}
	}
	if err := s.replica.Err(); err != nil {
		out.Reason = strings.ToValidUTF8(err.Error(), "\uFFFD") // it may quote bytes of a damaged file
	}
	if running, done, total := s.installer.Progress(); running {
		out.State, out.CaughtUp = "Installing", false
		out.InstallDoneBytes, out.InstallTotalBytes = done, total
	}
	s.store.Status.Report(out)
	out.Pins = uint32(s.store.Readers.Open.Load())
	out.AsideTables = uint32(len(out.Aside))
	out.Aside = out.Aside[:min(len(out.Aside), reportedAside)]
	out.DamagedSegments = uint32(len(out.Damaged))
	slices.SortFunc(out.Damaged, func(a, b *metapb.DamagedSegment) int { return strings.Compare(a.File, b.File) })
	out.Damaged = out.Damaged[:min(len(out.Damaged), reportedDamage)]
	for _, d := range out.Damaged {
		d.Reason = strings.ToValidUTF8(d.Reason[:min(len(d.Reason), 300)], "")
	}
	if r.State == "Leader" {
		out.Tables = s.store.Status.Busiest(busiestTables)
		if m := s.mover; m != nil {
			out.Lag = &metapb.ObjectStorageLag{
				RowsNanos: int64(m.UploadLag()), StateNanos: int64(m.StateLag()), LogNanos: int64(m.LogLag()),
				ShipsLog: s.cfg.Tier.LogEvery > 0,
			}
		}
	}
	out.HighestTableId = s.highestTable()
	return out
}

// highestEvery is how often highestTable searches for the highest id.
const highestEvery = 10 * time.Second

// highest is the highest table id of a shard, and when it was looked up.
type highest struct {
	mu sync.Mutex
	id uint64
	at time.Time
}

// highestTable returns the highest table id that the shard has had since it was opened. It is at
// most highestEvery old.
func (s *Shard) highestTable() uint64 {
	h := &s.highest
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.at.IsZero() && time.Since(h.at) < highestEvery {
		return h.id
	}
	h.at = time.Now()
	h.id = max(h.id, s.store.Status.HighestTable())
	return h.id
}

// reportedAside is the maximum number of tables with quarantined rows in a report.
const reportedAside = 16

// LostObjects says that objects are missing or damaged in object storage. If this replica leads and has their rows, it
// tries to store them again.
func (s *Shard) LostObjects(list []*cold.Object) {
	if s.mover != nil {
		s.mover.Lost(list)
	}
}

// Warnings returns texts about problems that an operator should fix. Every user may read them, so
// they identify tables by their ids.
func (s *Shard) Warnings() (out []string) {
	out = s.store.Status.Warnings()
	if s.replica.LogWaits() {
		out = append(out,
			fmt.Sprintf("shard %d: the disk is full, and the log waits for space: remove other files from the disk, "+
				"or make it larger", s.cfg.ID))
	}
	if s.mover != nil {
		return append(out, s.mover.Warnings()...)
	}
	cold := false
	s.store.Status.Inspect(func(st *rules.State) { cold = st.HasSets() })
	if cold {
		out = append(out, fmt.Sprintf("shard %d: some of its rows are in object storage, and this node has none: queries of "+
			"these rows fail here, and nothing is stored there while this node leads; start it with the --object-storage-url "+
			"of the other nodes", s.cfg.ID))
	}
	return out
}
