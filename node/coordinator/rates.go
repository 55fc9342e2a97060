package coordinator

import (
	"math"
	"time"

	"cordwood/node/coordinator/snapshot"
	"cordwood/proto/metapb"
)

// meter computes rates from the counts in reports, as a mean over about a minute.
type meter struct {
	shards map[meterKey]*gauge
	tables map[meterKey]*gauge
	// last is the last rate of each shard; it survives a change of the shard's leader.
	last snapshot.Rates
}

// meterKey identifies a counter, which starts at 0 with each process.
type meterKey struct {
	node    string
	process uint64
	shard   uint32
	table   uint64
}

type gauge struct {
	bytes int64
	at    time.Time
	rate  float64
	seen  bool
	// first means that there is no rate to smooth yet.
	first bool
}

// meterMean is the time over which rates are smoothed.
const meterMean = time.Minute

func newMeter() *meter {
	return &meter{shards: map[meterKey]*gauge{}, tables: map[meterKey]*gauge{}}
}

// read processes the newest reports. Only counts of leaders are used, and counts that are no longer
// reported are dropped.
func (m *meter) read(now time.Time, status *metapb.StatusResponse) snapshot.Rates {
	out := snapshot.Rates{Shard: map[uint32]float64{}, Table: map[uint64]float64{}}
	for _, group := range []map[meterKey]*gauge{m.shards, m.tables} {
		for _, g := range group {
			g.seen = false
		}
	}
	for _, n := range status.Nodes {
		at := now.Add(-time.Duration(n.SilentNanos))
		for _, r := range n.GetReport().GetReplicas() {
			if n.Down || r.State != snapshot.StateLeader {
				continue
			}
			key := meterKey{node: n.Node.GetId(), process: n.Report.Process, shard: r.ShardId}
			out.Shard[r.ShardId] += update(m.shards, key, r.IngestedBytes, at, m.last.Shard[r.ShardId])
			for _, t := range r.Tables {
				key.table = t.TableId
				out.Table[t.TableId] += update(m.tables, key, t.Bytes, at, 0) // the table may have other shards
			}
		}
	}
	for _, group := range []map[meterKey]*gauge{m.shards, m.tables} {
		for key, g := range group {
			if !g.seen {
				delete(group, key)
			}
		}
	}
	m.last = out
	return out
}

// between returns the rates of shards between two statuses, without shards whose leader changed.
func between(first, second *metapb.StatusResponse, took time.Duration) map[uint32]float64 {
	m := newMeter()
	begin := time.Time{}.Add(time.Hour)
	m.read(begin, first)
	for _, g := range m.shards {
		g.first = true
	}
	return m.read(begin.Add(took), second).Shard
}

// update processes one count. before is the previous rate if another source has reported it.
func update(group map[meterKey]*gauge, key meterKey, bytes int64, at time.Time, before float64) float64 {
	g := group[key]
	if g == nil {
		g = &gauge{bytes: bytes, at: at, rate: before}
		group[key] = g
	}
	g.seen = true
	if took := at.Sub(g.at); took >= time.Second/2 {
		now := max(0, float64(bytes-g.bytes)/took.Seconds())
		if g.first {
			g.rate, g.first = now, false
		}
		g.rate += (now - g.rate) * (1 - math.Exp(-float64(took)/float64(meterMean)))
		g.bytes, g.at = bytes, at
	}
	return g.rate
}
