package server

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/query"
	"cordwood/shard/store"
)

// Scan sends the rows of one table in one shard that a query on another node needs.
func (s *server) Scan(req *shardpb.ScanRequest, stream grpc.ServerStreamingServer[shardpb.ScanResponse]) error {
	// The client waits for a first message, and asks the next replica if none arrives.
	if err := stream.SendHeader(metadata.MD{}); err != nil {
		return err
	}
	ctx := s.forUser(stream.Context(), req.Share, nil, req.GetTable().GetDatabase())
	if req.QueryId == "" || req.Table == nil {
		return errs.ToGRPC(s.scan(ctx, req, stream.Send))
	}
	ctx, q, leave := s.running.enter(ctx, &shardpb.QueryRequest{
		Sql: scanSQL(req), QueryId: req.QueryId, Share: req.Share, Part: true,
	})
	defer leave()
	q.Enter(phaseRun)
	return errs.ToGRPC(q.ended(ctx, s.scan(ctx, req, func(m *shardpb.ScanResponse) error {
		q.sent.Add(int64(len(m.ArrowIpc)))
		return stream.Send(m)
	})))
}

func (s *server) scan(ctx context.Context, req *shardpb.ScanRequest, send func(*shardpb.ScanResponse) error) error {
	if req.Table == nil || req.Table.Id == 0 {
		return errs.New(errs.InvalidArguments, "scan: the request has no definition of the table")
	}
	sh, err := s.present(ctx, req.ShardId, req.AnyReplica, time.Duration(req.MaxStalenessNanos), req.MinIndex, req.Table)
	if err != nil {
		return err
	}
	v := sh.ReadView(req.Table.Id)
	if v == nil {
		return store.Unreachable(req.ShardId)
	}
	defer v.Close()
	if err := sh.Store().Tables.Gone(req.Table.Id); err != nil {
		return err
	}
	if req.Unchecked {
		if err := sh.Store().Tables.Outdated([]*schemapb.Table{req.Table}); err != nil {
			return err
		}
	}
	qt := query.Table{
		Database:      req.Table.Database,
		Name:          req.Table.Name,
		Schema:        schema.FromProto(req.Table),
		ExpiredBefore: req.ExpiredBefore,
	}
	cold := s.newColdRows()
	defer cold.release()
	show(&qt, v, req.Table.Id, cold)
	if req.AllowPartial {
		if missing := leaveOutOf(&qt); len(missing) > 0 {
			if err := send(lacks(missing)); err != nil {
				return err
			}
		}
	}
	lost, sent := false, false
	emit := func(ipc []byte) error {
		sent = true
		for len(ipc) > 0 {
			n := min(len(ipc), chunkBytes)
			if err := send(&shardpb.ScanResponse{ArrowIpc: ipc[:n]}); err != nil {
				lost = true // the client is gone, so the files are not the cause
				return err
			}
			ipc = ipc[n:]
		}
		return nil
	}
	of := &query.Request{SQL: scanSQL(req), Database: qt.Database, Tables: []query.Table{qt}}
	err = cold.query(ctx, s.cfg.Engine, of, emit, func(missing []words.Missing) (bool, error) {
		if !req.AllowPartial || sent {
			return false, nil
		}
		return true, send(lacks(missing))
	})
	if lost {
		return err
	}
	return s.examineShards(ctx, []uint32{req.ShardId}, []uint64{req.Table.Id}, err)
}

// scanSQL returns the statement for the rows of a scan.
func scanSQL(req *shardpb.ScanRequest) string {
	columns := "*"
	if len(req.Columns) > 0 {
		quoted := make([]string, len(req.Columns))
		for i, c := range req.Columns {
			quoted[i] = schema.QuoteIdent(c)
		}
		columns = strings.Join(quoted, ", ")
	}
	sql := "SELECT " + columns + " FROM " + schema.QuoteIdent(req.Table.Database) + "." + schema.QuoteIdent(req.Table.Name)
	if req.Where != "" {
		sql += " WHERE " + req.Where
	}
	return sql
}

// present waits until a shard of this node has everything that was acknowledged before the call:
// the replica leads, and a majority confirms this. If anyReplica is set, any replica is sufficient
// whose state is no older than maxStaleness (0 means any age) and includes minIndex. It must have
// all rows of tables that were moved to the shard.
func (s *server) present(ctx context.Context, id uint32, anyReplica bool, maxStaleness time.Duration, minIndex uint64,
	tables ...*schemapb.Table,
) (Shard, error) {
	if anyReplica && !s.tookOver(id, tables) {
		anyReplica = false // the leader of the shard has them
	}
	if anyReplica && maxStaleness > 0 {
		return s.recent(ctx, id, maxStaleness, minIndex)
	}
	sh, err := s.ready(ctx, id)
	if err != nil {
		return nil, err
	}
	applied := uint64(0)
	if !anyReplica {
		if applied, err = sh.ReadBarrier(ctx); err != nil {
			return nil, err
		}
	}
	if minIndex > applied {
		wait, cancel := context.WithTimeout(ctx, readyWait)
		defer cancel()
		if err := sh.WaitApplied(wait, minIndex); err != nil {
			return nil, errs.Wrap(errs.ShardNotReady, err, "shard %d: the replica has not caught up to index %d", id,
				minIndex).WithRetryAfter(time.Second)
		}
	}
	return sh, nil
}

// tookOver reports whether the replica of a shard on this node has all rows of tables that were
// moved to it.
func (s *server) tookOver(id uint32, tables []*schemapb.Table) bool {
	sh, ok := s.cfg.Shards(id)
	return !ok || !slices.ContainsFunc(tables, func(t *schemapb.Table) bool {
		return t.GetOriginId() != 0 && !sh.Store().Definitions.TookOver(t.Id)
	})
}

// recent returns a shard of this node that has everything that was acknowledged longer than
// maxStaleness ago. The replica need not lead, and there may be no leader.
func (s *server) recent(ctx context.Context, id uint32, maxStaleness time.Duration, minIndex uint64) (Shard, error) {
	sh, ok := s.cfg.Shards(id)
	if !ok {
		return nil, store.Unreachable(id)
	}
	age, known := sh.Replica().Staleness()
	if (!known || age > maxStaleness) && sh.Leads() {
		// Other replicas answer this at once.
		index, err := sh.ReadBarrier(ctx)
		if err != nil {
			return nil, err
		}
		age, known, minIndex = 0, true, max(minIndex, index)
	}
	if !known || age > maxStaleness {
		return nil, errs.New(errs.ShardNotReady, "shard %d: the replica cannot be read with max_staleness=%s: %s",
			id, inParameter(maxStaleness), howStale(age, known)).
			WithLeader(sh.Leader()).WithRetryAfter(time.Second)
	}
	if minIndex > 0 {
		wait, cancel := context.WithTimeout(ctx, leaveAfter)
		defer cancel()
		if err := sh.WaitApplied(wait, minIndex); err != nil {
			return nil, errs.Wrap(errs.ShardNotReady, err, "shard %d: the replica has not caught up to index %d", id,
				minIndex).WithRetryAfter(time.Second)
		}
	}
	return sh, nil
}

// howStale describes the age of a replica's rows that a read with consistency=any does not allow.
func howStale(age time.Duration, known bool) string {
	if !known {
		return "it is not known how far it is behind before it has heard more from a leader"
	}
	text := fmt.Sprintf("it is up to %s behind", age.Round(100*time.Millisecond))
	if enough := enoughStaleness(age); enough != 0 {
		return text + "; max_staleness=" + inParameter(enough) + " allows it"
	}
	return text
}

// maxStaleness is the maximum of the parameter max_staleness.
const maxStaleness = 24 * time.Hour

// enoughStaleness returns a max_staleness with which a replica of an age can be read for a while, or 0 if there is
// none.
func enoughStaleness(age time.Duration) time.Duration {
	if age >= maxStaleness {
		return 0
	}
	return min((age*3/2).Truncate(time.Minute)+time.Minute, maxStaleness)
}

// inParameter returns a duration as people write it in a parameter: 1h instead of 1h0m0s.
func inParameter(d time.Duration) string {
	text := d.String()
	if short, ok := strings.CutSuffix(text, "m0s"); ok {
		text = short + "m"
	}
	if short, ok := strings.CutSuffix(text, "h0m"); ok {
		text = short + "h"
	}
	return text
}

// lacks returns a message about what is missing.
func lacks(missing []words.Missing) *shardpb.ScanResponse {
	out := &shardpb.ScanResponse{}
	out.Missing, out.Partial = shardpb.NewMissing(missing)
	return out
}

// leaveOutOf removes the damaged segments from a table, and returns what is missing then.
func leaveOutOf(t *query.Table) (missing []words.Missing) {
	t.Segments = slices.DeleteFunc(t.Segments, func(seg query.Segment) bool {
		if seg.Damaged == "" {
			return false
		}
		missing = append(missing, words.Missing{
			Table: t.Database + "." + t.Name, Segment: filepath.Base(seg.Path),
			Reason: "it is damaged; it has " + query.CountOf(seg.Rows, "row"),
		})
		return true
	})
	return missing
}
