package coordinator

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/proto/words"
)

// This file keeps tables within their option max_size, and all tables together within Config.MaxSize: the oldest rows
// expire. The leaders of the shards say how large each part of a table is, and write to their logs what expires, so all
// replicas agree. If a shard does not answer, its rows are not counted, so too few rows expire rather than too many.

// sizesID is the id of this work among the coordinator's calls.
const sizesID = math.MaxUint64

// leftOf100 is how much of a limit is left after rows have expired, in percent, so that it is not reached at once.
const leftOf100 = 95

// sizePart is rows of a table in one shard.
type sizePart struct {
	table  int // the position of the table
	bytes  int64
	newest int64 // in the unit of the table
	at     time.Time
}

// sizedTable is a table with its limit, or 0.
type sizedTable struct {
	*schema.Table
	limit int64
}

// sizeLimits returns the tables that count, if any limit is set. Tables of the server itself have no limit, and do not
// count.
func sizeLimits(snap *snapshot.Snapshot, all int64) (tables []sizedTable) {
	for _, t := range snap.Tables {
		limit := schema.MaxSize(t.Options)
		if t.TimeIndex() != nil && t.Database != schema.PrivateDatabase && (limit > 0 || all > 0) {
			tables = append(tables, sizedTable{t, limit})
		}
	}
	slices.SortFunc(tables, func(a, b sizedTable) int { return cmp.Compare(a.ID, b.ID) })
	return tables
}

// expireBySize starts a check of sizes if one is due.
func (l *leading) expireBySize(ctx context.Context, snap *snapshot.Snapshot) {
	if l.busy[sizesID] || snap.Now.Before(l.nextSizes) {
		return
	}
	l.nextSizes = snap.Now.Add(l.cfg.SizeEvery)
	tables := sizeLimits(snap, l.cfg.MaxSize)
	if len(tables) == 0 {
		return
	}
	l.busy[sizesID] = true
	l.wg.Go(func() {
		l.checkSizes(ctx, snap, tables)
		select {
		case l.outcomes <- outcome{id: sizesID}:
		case <-ctx.Done():
		}
	})
}

// checkSizes asks all shards for the sizes of tables, and makes rows expire.
func (l *leading) checkSizes(ctx context.Context, snap *snapshot.Snapshot, tables []sizedTable) {
	req := &shardpb.TableSizesRequest{}
	at := map[uint64]int{}
	for i, t := range tables {
		req.TableIds, at[t.ID] = append(req.TableIds, t.ID), i
	}
	var parts []sizePart
	var mu sync.Mutex
	has := map[uint32]map[int]bool{} // the tables of each shard
	l.eachLeader(ctx, snap, "read the sizes of tables", func(ctx context.Context, c shardpb.ShardServiceClient,
		shard uint32,
	) error {
		resp, err := c.TableSizes(ctx, &shardpb.TableSizesRequest{ShardId: shard, TableIds: req.TableIds})
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		has[shard] = map[int]bool{}
		for _, t := range resp.Tables {
			i, ok := at[t.TableId]
			if !ok {
				continue
			}
			has[shard][i] = true
			for _, p := range t.Parts {
				parts = append(parts, sizePart{
					table: i, bytes: p.Bytes, newest: p.Newest, at: tables[i].TimeIndex().Type.Moment(p.Newest),
				})
			}
		}
		return nil
	})
	before := l.tooOld(tables, parts, snap.Now)
	if len(before) == 0 {
		return
	}
	l.eachLeader(ctx, snap, "make the oldest rows of tables expire", func(ctx context.Context,
		c shardpb.ShardServiceClient, shard uint32,
	) error {
		req := &shardpb.ExpireRowsRequest{ShardId: shard}
		for i, t := range tables {
			if b, ok := before[i]; ok && has[shard][i] {
				req.Cutoffs = append(req.Cutoffs, &shardpb.RowCutoff{TableId: t.ID, Before: b})
			}
		}
		if len(req.Cutoffs) == 0 {
			return nil
		}
		_, err := c.ExpireRows(ctx, req)
		return err
	})
}

// eachLeader calls f for the leaders of all shards at once, and logs errors.
func (l *leading) eachLeader(ctx context.Context, snap *snapshot.Snapshot, what string,
	f func(context.Context, shardpb.ShardServiceClient, uint32) error,
) {
	var wg sync.WaitGroup
	for _, s := range snap.Status.Shards {
		leader := snap.Groups[s.Id].Leader
		if leader == "" {
			continue
		}
		wg.Go(func() {
			call, cancel := context.WithTimeout(ctx, l.cfg.CallTimeout)
			defer cancel()
			conn, err := l.cfg.Dial(leader)
			if err == nil {
				err = errs.FromGRPC(f(call, shardpb.NewShardServiceClient(conn), s.Id))
			}
			if err != nil && ctx.Err() == nil {
				l.log.Warn("could not "+what+"; it is tried again", "shard", s.Id, "node", leader, "error", err)
			}
		})
	}
	wg.Wait()
}

// tooOld returns the times before which rows of tables have to expire, by the positions of the tables.
func (l *leading) tooOld(tables []sizedTable, parts []sizePart, now time.Time) (before map[int]int64) {
	before = map[int]int64{}
	byTable := map[int][]sizePart{}
	for _, p := range parts {
		byTable[p.table] = append(byTable[p.table], p)
	}
	check := func(parts []sizePart, limit int64, option, key string) (left []sizePart) {
		cut, left := oldest(parts, limit, now)
		for i, c := range cut {
			if had, ok := before[i]; !ok || c.before > had {
				before[i] = c.before
			}
			t := tables[i]
			l.metrics.sized.WithLabelValues(option).Add(float64(c.bytes))
			l.log.Info("the oldest rows of a table expire because of a limit of size", "table", t.Database+"."+t.Name,
				"before", t.TimeIndex().Type.Moment(c.before).UTC(), "bytes", c.bytes, "limit", words.FormatBytes(limit),
				"option", option)
		}
		size := sumSizes(left)
		over := limit > 0 && size > limit
		if over && !l.tooLarge[key] {
			l.log.Warn("a limit of size is exceeded by the newest files, which stay", "bytes", size,
				"limit", words.FormatBytes(limit), "option", option)
		}
		l.tooLarge[key] = over
		return left
	}
	var rest []sizePart
	for i, t := range tables {
		rest = append(rest, check(byTable[i], t.limit, schema.OptionMaxSize, t.Database+"."+t.Name)...)
	}
	check(rest, l.cfg.MaxSize, "--max-size", "")
	return before
}

// sizeCut says before which time rows of a table expire, and how many bytes their parts have.
type sizeCut struct{ before, bytes int64 }

// oldest chooses the parts that have to expire so that the others are within a limit; 0 means no limit. It returns what
// expires of each table, and the parts that are left. The newest part of each table is left, and so is the newest one
// without rows of the future: one row of a sender whose clock is wrong must not replace all others.
func oldest(parts []sizePart, limit int64, now time.Time) (cut map[int]sizeCut, left []sizePart) {
	total := sumSizes(parts)
	if limit == 0 || total <= limit {
		return nil, parts
	}
	parts = slices.Clone(parts)
	slices.SortStableFunc(parts, func(a, b sizePart) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.newest, b.newest))
	})
	last, present := map[int]int{}, map[int]int{}
	for i, p := range parts {
		last[p.table] = i
		if !p.at.After(now) {
			present[p.table] = i
		}
	}
	cut = map[int]sizeCut{}
	want := limit/100*leftOf100 + limit%100*leftOf100/100
	for i, p := range parts {
		newest, some := present[p.table]
		if total <= want || last[p.table] == i || some && newest == i || p.newest == math.MaxInt64 {
			left = append(left, p)
			continue
		}
		total -= p.bytes
		cut[p.table] = sizeCut{p.newest + 1, cut[p.table].bytes + p.bytes}
	}
	return cut, left
}

func sumSizes(parts []sizePart) (total int64) {
	for _, p := range parts {
		total += p.bytes
	}
	return total
}
