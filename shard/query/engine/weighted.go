package engine

import (
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// This file answers a statement for nodes that only has counts and extremes over rows that are counted, not read. Each
// kind of such rows is one row with their number, and counts become sums of these numbers, because DuckDB takes 3 ms to
// make a million constant rows.

// answerWeighted answers a statement whose rows may be counted, if no partial results are kept for it: for example
// because all segments lie across the border of a time condition.
func (r *run) answerWeighted() (done bool, err error) {
	s := r.divisible()
	if s == nil || s.weighted == "" || r.Plans[0].View.Merges() || !r.Plans[0].MayCount() {
		return false, nil
	}
	ipc, err := r.runWeighted(s.weighted, nil)
	if err != nil {
		if sql.IsBroken(err) || r.ctx.Err() != nil {
			return false, err
		}
		return false, nil // the run over the whole table reports the fault
	}
	return true, r.send(ipc)
}

// runWeighted runs a statement over rows that each represent several rows, and returns its answer as an Arrow IPC
// stream. kept are the paths of the segments that are not read.
func (r *run) runWeighted(text string, kept map[string]bool) ([]byte, error) {
	st, err := r.worker(text)
	if err != nil {
		return nil, err
	}
	out := limited{most: maxKeptBytes}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: r.request, emit: out.write, now: r.now}
	defer w.close()
	if w.Planned, err = plan.New(r.ctx, st.Statement, st.shape, r.request, r.now, r.engine.settings); err != nil {
		return nil, err
	}
	w.Plans[0].Kept, w.Plans[0].Weighted = kept, true
	err = w.bind(w.execute)
	return out.buf.Bytes(), err
}
