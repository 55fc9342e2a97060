package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/shardpb"
	"cordwood/shard/server/distribute"
)

// readsDamaged reports whether the engine's error may come from a damaged file: the error
// does not say which.
func readsDamaged(err error) bool {
	e := errs.From(err)
	switch e.Code {
	case errs.EngineExecuteQuery, errs.External, errs.Internal, errs.Unexpected, errs.Unknown, errs.StorageUnavailable:
		return true
	case errs.InvalidArguments:
	default:
		return false
	}
	// Mistakes in statements have this code too, and are frequent.
	text := strings.ToLower(err.Error())
	for _, word := range []string{"zstd", "parquet", "decompress", "tprotocol", "corrupt", "checksum"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// examine looks, after a query failed, whether a damaged file is the reason: then the
// file is set aside, and the error says what is missing.
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

// examineShards is examine of some tables in those shards that are on this node.
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
		"%d damaged segments were found and set aside (svc_private.segments names them); the query can be tried again, "+
			"and says what is missing: %s", damaged, err).WithRetryAfter(time.Second)
}

// lasting changes the error of a query that lacks the rows of a damaged segment. Another
// replica mends such a segment soon, and the query may be sent again. Where there is no other
// one, status 500 says that the query fails until a person does something about it.
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

// verifiedFor is how long a file that was found sound is not verified again because a
// query failed.
const verifiedFor = 10 * time.Minute
