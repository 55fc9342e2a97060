package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
	"cordwood/shard/query"
	"cordwood/shard/server/distribute"
)

// readsDamaged reports whether the engine's error may be caused by a damaged file. The error does
// not contain the file.
func readsDamaged(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.EngineExecuteQuery, errs.External, errs.Internal, errs.Unexpected, errs.Unknown, errs.StorageUnavailable:
		return true
	case errs.InvalidArguments:
	default:
		return false
	}
	// Faults in statements have this code too, and are frequent.
	text := strings.ToLower(err.Error())
	for _, word := range []string{"zstd", "parquet", "decompress", "tprotocol", "corrupt", "checksum"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// runQuery has the engine answer a query. If it fails, its files are examined, unless it failed because the answer
// could not be sent: the client no longer wants it, and the files are not the cause. cold reads the objects.
func (s *server) runQuery(ctx context.Context, req *shardpb.QueryRequest, of *query.Request, cold *coldRows,
	out *answer,
) error {
	err := cold.query(ctx, s.cfg.Engine, of, out.Rows, func(missing []words.Missing) (bool, error) {
		if !req.AllowPartial || out.bytes > 0 {
			return false, nil
		}
		out.forget()
		return true, out.Missing(missing)
	})
	if out.failed != nil {
		return err
	}
	return s.examine(ctx, req, err)
}

// examine checks, after a query failed, whether a damaged file is the cause. If so, it quarantines
// the file, and the error describes what is missing.
func (s *server) examine(ctx context.Context, req *shardpb.QueryRequest, err error) error {
	var shards []uint32
	var tables []uint64
	for _, t := range req.Tables {
		if t.Inline {
			continue
		}
		tables = append(tables, t.Table.Id)
		for _, id := range distribute.ShardsOf(t) {
			if !slices.Contains(shards, id) {
				shards = append(shards, id)
			}
		}
	}
	return s.examineShards(ctx, shards, tables, err)
}

// examineShards is like examine, for some tables in the shards that are on this node.
func (s *server) examineShards(ctx context.Context, shards []uint32, tables []uint64, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	if !readsDamaged(err) {
		return s.lasting(shards, err)
	}
	damaged := 0
	for _, id := range shards {
		sh, ok := s.cfg.Shards(id)
		if !ok {
			continue
		}
		n, verr := sh.Store().Scrub.Verify(tables, verifiedFor, func(int) error { return ctx.Err() })
		damaged += n
		if verr != nil {
			s.cfg.Logger.Warn("a query failed, and its files could not be verified", "shard", id, "error", verr)
		}
	}
	if damaged == 0 {
		return err
	}
	return errs.New(errs.TableUnavailable,
		"%d damaged segments were found and quarantined (svc_private.segments lists them); run the query again; "+
			"it then reports what is missing: %s", damaged, err).WithRetryAfter(time.Second)
}

// lasting adapts the error of a query that needs rows of a damaged segment. If there is another
// replica, the segment will be repaired soon, and the query may be sent again. If there is none,
// the status is 500, because the query fails until an operator acts.
func (s *server) lasting(shards []uint32, err error) error {
	e := errs.From(err)
	if e.Code != errs.TableUnavailable || e.RetryAfter != 0 {
		return err
	}
	for _, id := range shards {
		if sh, ok := s.cfg.Shards(id); ok && !sh.Replica().SoleVoter() {
			return e.WithRetryAfter(time.Second)
		}
	}
	return e.WithStatus(http.StatusInternalServerError)
}

// verifiedFor is how long an intact file is not verified again after failed queries.
const verifiedFor = 10 * time.Minute
