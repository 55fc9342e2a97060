package engine

import (
	"fmt"
	"time"

	"cordwood/proto/lazyregexp"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/split"
	"cordwood/shard/query/partial"
)

// This file splits a statement as for several nodes although all its rows are on this node, because
// the partial results of the parts are often cached (kept.go).

// answerByParts answers a repeated statement with the kept partial results of its segments.
func (r *run) answerByParts() (done bool, err error) {
	if r.engine.parts == nil || r.request.Part || r.st.Explain != "" || len(r.Plans) != 1 || !r.large() {
		return false, nil
	}
	s, err := r.splitIfRepeated()
	if err != nil || s == nil {
		return false, err
	}
	st, err := r.worker(s.Worker)
	if err != nil {
		return false, nil //nolint:nilerr // the statement itself reports the error
	}
	request := *r.request
	request.SQL, request.Part, request.Limit, request.Note = s.Worker, true, 0, ""
	out := limited{most: 2 * maxKeptBytes}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: &request, emit: out.write}
	defer w.close()
	if err := w.plan(); err != nil {
		return false, nil //nolint:nilerr // as above
	}
	if done, err := w.answerFromKept(); err != nil {
		return false, err
	} else if !done && !r.engine.settings.Off["weighted"] {
		if done, err = w.answerWeighted(); !done || err != nil {
			return false, err
		}
	} else if !done {
		return false, nil
	}
	if s.Combine != nil {
		if ipc, ok := partial.Answer([][]byte{out.buf.Bytes()}, s.Combine, r.request.Limit); ok {
			return true, r.send(ipc)
		}
	}
	request.Limit = r.request.Limit
	request.Partials = &query.Partials{Final: s.Final, Moment: s.Moment, Streams: [][]byte{out.buf.Bytes()}}
	last := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: &request, emit: r.emit}
	err = last.finish()
	r.rows, r.sent, r.emitErr = last.rows, last.sent, last.emitErr
	return err == nil || r.sent || r.emitErr != nil, err
}

// keptSummary returns the text of EXPLAIN about the statement's kept partial results. It is empty if there are none.
func (r *run) keptSummary() string {
	if r.engine.parts == nil || len(r.Plans) != 1 || r.engine.settings.Off["parts"] {
		return ""
	}
	request := *r.request
	request.SQL = r.st.SQL
	kept := r.engine.splits.get(splitKey(r.st, &request))
	if kept == nil || kept.Final == "" || len(kept.First) > 0 {
		return ""
	}
	request.SQL, request.Part, request.Limit = kept.At(r.now).Worker, true, 0
	st, err := r.worker(request.SQL)
	if err != nil {
		return ""
	}
	w := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: st, request: &request}
	if w.plan() != nil {
		return ""
	}
	k := w.keepable()
	if k == nil {
		return ""
	}
	n := 0
	for _, s := range k.segments {
		if r.engine.parts.Has(k.keyOf(s)) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("  without EXPLAIN the results of %d segments are known from queries before", n)
}

// large reports whether the table has so many rows in segments that reading them takes longer than
// combining partial results.
func (r *run) large() bool {
	rows := int64(0)
	for i := range r.Plans[0].View.Segments {
		rows += r.Plans[0].View.Segments[i].Rows
	}
	return rows >= r.engine.settings.MinByParts
}

// splitIfRepeated returns the split statement if the statement is repeated and groups or aggregates rows. Otherwise
// it returns nil.
func (r *run) splitIfRepeated() (*query.Split, error) {
	key := splitKey(r.st, r.request)
	kept := r.engine.splits.get(key)
	if kept == nil {
		if !r.engine.parts.Asked(withoutTimes(key), r.now) {
			return nil, nil
		}
		s := &run{ctx: r.ctx, engine: r.engine, in: r.in, st: r.st, request: withoutRows(r.request)}
		out, err := s.split(split.Split)
		if h := unsplit(err, ""); h != nil {
			out, err = h, nil
			out.Lasting = true
		}
		if err != nil {
			return nil, nil //nolint:nilerr // the statement itself reports the error
		}
		kept = out
		if kept.Lasting {
			r.engine.splits.put(key, kept)
		}
	}
	if kept.Reason != "" || kept.Final == "" || len(kept.First) > 0 || kept.Kind != "aggregate" && kept.Kind != "pairs" {
		return nil, nil
	}
	return kept.At(time.Now()), nil
}

// dated matches a literal that begins with a date.
var dated = lazyregexp.New(`'\d{4}-\d\d-\d\d[^']*'`)

// withoutTimes returns the statement with the same text in place of every literal that begins with a date. So a
// statement about the last days, sent again a minute later with other times, is a repeated one: most of its partial
// results are the same.
func withoutTimes(text string) string { return dated.ReplaceAllLiteralString(text, "'date'") }

// worker returns the checked statement for nodes. It comes from the cache if it was used recently.
func (r *run) worker(text string) (*studied, error) {
	key := r.request.Database + "\x00" + text
	if st := r.engine.cache.get(key); st != nil {
		return st, nil
	}
	st, err := r.parseWorker(text)
	if err == nil {
		r.engine.cache.put(key, st)
	}
	return st, err
}
