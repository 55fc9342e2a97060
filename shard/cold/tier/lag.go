package tier

import (
	"sync/atomic"
	"time"

	"cordwood/shard/store"
)

// moment is a time of Config.Monotonic that other goroutines read; 0 means none.
type moment struct{ at atomic.Int64 }

func (m *moment) clear() { m.at.Store(0) }

func (m *moment) set(at time.Duration) { m.at.Store(max(int64(at), 1)) }

// begin sets the moment unless it is set.
func (m *moment) begin(at time.Duration) { m.at.CompareAndSwap(0, max(int64(at), 1)) }

// since returns the time that has passed; 0 if there is no moment.
func (m *moment) since(now time.Duration) time.Duration {
	at := time.Duration(m.at.Load())
	if at == 0 {
		return 0
	}
	return max(now-at, 0)
}

// lags says since when work has not been done that was due.
type lags struct {
	// upload is when the oldest rows became old that are not in the bucket, state when the state in the bucket became
	// outdated.
	upload, state moment
	// cut is since when the rows of the open cut have waited, or when the cut was seen first; of is its number.
	cut time.Duration
	of  uint64
}

// lag updates how long rows have waited that are old. hot are the tables with rows in no cut.
func (m *Mover) lag(hot []store.HotTable) {
	now, oldest := m.cfg.Monotonic(), time.Duration(0)
	note := func(at time.Duration) {
		if at <= now && (oldest == 0 || at < oldest) {
			oldest = max(at, 1)
		}
	}
	for i := range hot {
		t := &hot[i]
		if m.cfg.Tier.Moves(t.Def.Table) {
			note(m.ages[t.Def.ID].since + m.cfg.Tier.UploadAfter)
		}
	}
	if _, open := m.cuts(); open != nil && len(open.Joins) == 0 {
		if m.lags.of != open.Number {
			m.lags.of, m.lags.cut = open.Number, now-m.lags.upload.since(now)
		}
		note(m.lags.cut)
	}
	if oldest == 0 {
		m.lags.upload.clear()
	} else {
		m.lags.upload.set(oldest)
	}
}

// UploadLag returns for how long old rows have waited to be stored in the bucket; 0 if none wait, or if this replica
// does not lead. It may be called concurrently.
func (m *Mover) UploadLag() time.Duration { return m.ifLeading(&m.lags.upload) }

// StateLag returns for how long the state of the shard in the bucket has been outdated; 0 if it is not, or if this
// replica does not lead. It may be called concurrently.
func (m *Mover) StateLag() time.Duration { return m.ifLeading(&m.lags.state) }

func (m *Mover) ifLeading(of *moment) time.Duration {
	if term, _ := m.cfg.Leads(); term == 0 {
		return 0
	}
	return of.since(m.cfg.Monotonic())
}
