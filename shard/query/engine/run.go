package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unsafe"

	duckdb "github.com/duckdb/duckdb-go-bindings"

	"cordwood/proto/errs"
	"cordwood/shard/query"
)

/*
#include "duckdb_api.h"
*/
import "C"

// interruptEvery is how often a running query is told to stop once its context has
// ended: the engine forgets an interrupt that comes between two of its steps.
const interruptEvery = 10 * time.Millisecond

// Query runs a SELECT, or an EXPLAIN of one, and hands the answer to emit as
// consecutive pieces of an Arrow IPC stream: a schema, record batches, an end marker.
// emit must not keep the bytes. When emit returns an error the query stops and Query
// returns that error. The first piece comes with the first megabyte of rows or at the
// end, so that most failures come before it.
//
// The query ends within a fraction of a second when ctx does: with errs.QueryTimeout
// at its deadline, with errs.Cancelled otherwise. When Query returns, nothing refers
// to the segments and batches of req any more.
//
// Columns of type JSON have the field metadata cordwood.type = Json. Types of the
// engine that Arrow or its users do not know well are sent as text: see DESIGN.md.
//
// Besides the errors of Analyze it returns errs.TableNotFound if req lacks a table,
// errs.ColumnNotFound, errs.PlanQuery, errs.InvalidArguments for values that cannot be
// converted or computed, and errs.RuntimeResourcesExhausted.
func (e *Engine) Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error {
	req, err := e.inZone(ctx, req)
	if err != nil {
		return err
	}
	st, err := e.parse(ctx, req.SQL, req.Database)
	if err != nil {
		return err
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	r := &run{ctx: ctx, engine: e, in: in, st: st, emit: emit}
	err = r.run(req)
	e.release(in, isBroken(err))
	if err == nil {
		return nil
	}
	if r.emitErr != nil {
		return r.emitErr
	}
	if ctx.Err() != nil {
		err = contextError(ctx)
		giveBackAfter(err)
		return err
	}
	if isBroken(err) {
		e.cfg.Logger.Error("query engine: query failed", "error", err, "sql", req.SQL)
	}
	hint := dottedName(err, r.text, req.Tables)
	err = toClient(err, r.text)
	if own := (*errs.Error)(nil); hint != "" && errors.As(err, &own) {
		own.Msg += hint
	}
	giveBackAfter(err)
	return err
}

// run is one query under way.
type run struct {
	ctx    context.Context
	engine *Engine
	in     *instance
	st     *statement
	text   *rewritten
	emit   func([]byte) error
	*planned
	now time.Time
	// sources are of the statement's references to tables.
	sources  []*source
	shadowed map[string]string
	// times are the edits that make times of integers.
	times []edit
	// rows counts those sent.
	rows uint64
	// ran tells that the statement was prepared and began to run, sent that some of the answer was.
	ran, sent bool
	// emitErr is the error that emit returned.
	emitErr error
}

func (r *run) run(req *query.Request) error {
	var err error
	r.now = time.Now()
	if r.planned, err = r.st.plan(req, r.now); err != nil {
		return err
	}
	if r.st.explain == "" {
		if d := r.directly(req.Limit); d != nil {
			if rows, ok := d.rows(); ok {
				r.engine.direct.Add(1)
				return d.answer(rows)
			}
		}
	}
	s, err := r.in.connect()
	if err != nil {
		return err
	}
	defer r.release()
	// The connection goes before what was lent: what is left of the query goes with it.
	defer s.close()
	defer r.watch(s)()

	r.shadowed = shadowedNames(r.views)
	if done, err := r.newest(s, req.Limit); done || err != nil {
		return err
	}
	if err := r.rewrite(r.st.whole); err != nil {
		return err
	}
	err = r.execute(s, req.Limit)
	for range maxIntegers {
		edits := r.integersAsTimes(err)
		if r.sent || len(edits) == 0 {
			break
		}
		r.times, r.ran, r.rows = append(r.times, edits...), false, 0
		if err := r.rewrite(r.st.whole); err != nil {
			return err
		}
		err = r.execute(s, req.Limit)
	}
	if (!r.st.whole || len(r.truncs) > 0) && !r.ran && isBinding(err) {
		// A name that is no column: the engine's message is to know all columns.
		r.truncs = nil
		if err := r.rewrite(true); err != nil {
			return err
		}
		return r.execute(s, req.Limit)
	}
	return err
}

// errLarge ends an attempt whose answer is too large to be kept.
var errLarge = errors.New("too large to be kept")

// newest runs a query for the newest rows over ever more of them, and tells whether it
// found all that it asks for. Nothing has been sent if not.
func (r *run) newest(s *session, limit uint64) (done bool, err error) {
	attempts := r.attempts(limit)
	if len(attempts) == 0 {
		return false, nil
	}
	want := r.st.newest.limit
	if want == 0 || limit > 0 && limit < want {
		want = limit
	}
	p := r.plans[r.st.newest.ref]
	emit := r.emit
	defer func() { r.emit, p.from, r.ran, r.sent, r.rows = emit, nil, false, false, 0 }()
	var kept [][]byte
	size := 0
	r.emit = func(ipc []byte) error {
		if size += len(ipc); size > maxKept {
			return errLarge
		}
		kept = append(kept, bytes.Clone(ipc))
		return nil
	}
	for _, from := range attempts {
		p.from, r.rows, kept, size = &from, 0, kept[:0], 0
		if err := r.rewrite(r.st.whole); err != nil {
			return false, err
		}
		if err := r.execute(s, limit); err != nil {
			r.emitErr = nil
			if isBroken(err) || r.ctx.Err() != nil {
				return false, err
			}
			return false, nil // what is wrong is said by the run over everything
		}
		if r.rows < want {
			continue
		}
		for _, ipc := range kept {
			if err := emit(ipc); err != nil {
				r.emitErr = err
				return false, err
			}
		}
		return true, nil
	}
	return false, nil
}

// rewrite puts what the statement reads into its text. whole: with all columns.
func (r *run) rewrite(whole bool) error {
	r.release()
	texts := make([]string, len(r.plans))
	for i, p := range r.plans {
		src := p.source(r.engine, r.st, whole)
		r.sources = append(r.sources, src)
		if src.damaged != nil {
			return query.DamagedError(p.view.Table, src.damaged)
		}
		if err := p.countValues(r.ctx, r.engine, r.st, src); err != nil {
			return err
		}
		var err error
		if texts[i], err = src.sql(); err != nil {
			return errs.Wrap(errs.Internal, err, "table %s", p.ref.name)
		}
	}
	searches := slices.Clone(r.times)
	for _, call := range r.searches {
		searches = append(searches, call.edits()...)
	}
	for _, call := range r.truncs {
		// The engine's own calls are as fast for constants.
		if src := r.sources[call.ref]; len(src.plain)+len(src.merges) > 0 {
			searches = append(searches, call.edits()...)
		}
	}
	var err error
	r.text, err = r.st.rewrite(texts, r.shadowed, searches)
	return err
}

// release takes back what was lent to the engine.
func (r *run) release() {
	for _, src := range r.sources {
		src.release()
	}
	r.sources = nil
}

// table returns the table of that name; one that differs only in case if there is no
// exact one.
func findTable(req *query.Request, name query.TableName) *query.Table {
	var similar *query.Table
	for i := range req.Tables {
		t := &req.Tables[i]
		if t.Database == name.Database && t.Name == name.Name {
			return t
		}
		if strings.EqualFold(t.Database, name.Database) && strings.EqualFold(t.Name, name.Name) {
			similar = t
		}
	}
	return similar
}

// watch interrupts the session when the context ends, again and again until the
// returned function is called, which waits for the watching to end.
func (r *run) watch(s *session) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-r.ctx.Done():
		case <-done:
			return
		}
		tick := time.NewTicker(interruptEvery)
		defer tick.Stop()
		for {
			s.interrupt()
			select {
			case <-tick.C:
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// execute runs the rewritten statement and streams its rows.
func (r *run) execute(s *session, limit uint64) error {
	p, err := r.prepare(s, limit)
	if err != nil {
		return err
	}
	defer p.close()
	if text := p.readable(); text != "" {
		// The second statement has the same columns, those in text that need be.
		again, err := prepare(s, text)
		if err != nil {
			return err
		}
		defer again.close()
		again.names = p.names
		p = again
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.ran = true
	for _, call := range r.searches {
		for i := range p.names {
			p.names[i] = call.restore(p.names[i])
		}
	}
	for _, call := range r.truncs {
		for i := range p.names {
			p.names[i] = call.restore(p.names[i])
		}
	}
	ownNames(p.names, r.st.sql)
	r.ownCase(p.names)
	var first duckdb.DataChunk
	if r.st.explainsInText() && len(r.plans) > 0 && len(p.types) == 2 {
		if first, err = s.explained(r.summary(limit)); err != nil {
			return err
		}
		defer duckdb.DestroyDataChunk(&first)
	}
	var handle C.duckdb_handle
	state := C.duckdb_pending_prepared_streaming(C.duckdb_handle(p.stmt.Ptr), &handle)
	pending := duckdb.PendingResult{Ptr: unsafe.Pointer(handle)}
	defer duckdb.DestroyPending(&pending)
	if state != 0 {
		return engineError(duckdb.PendingError(pending), duckdb.ErrorTypeInvalid)
	}
	var res duckdb.Result
	defer duckdb.DestroyResult(&res)
	if duckdb.ExecutePending(pending, &res) == duckdb.StateError {
		return engineError(duckdb.ResultError(&res), duckdb.ResultErrorType(&res))
	}
	out, err := newStream(p, &res, r.send)
	if err != nil {
		return err
	}
	defer out.release()
	if first.Ptr != nil {
		if err := out.write(first, 1); err != nil {
			return err
		}
	}
	return r.fetch(&res, out, limit)
}

func (r *run) fetch(res *duckdb.Result, out *stream, limit uint64) error {
	left := limit
	for limit == 0 || left > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		chunk := duckdb.FetchChunk(*res)
		if chunk.Ptr == nil {
			if msg := duckdb.ResultError(res); msg != "" {
				return engineError(msg, duckdb.ResultErrorType(res))
			}
			break
		}
		rows := uint64(duckdb.DataChunkGetSize(chunk))
		if rows == 0 {
			duckdb.DestroyDataChunk(&chunk)
			break
		}
		take := rows
		if limit > 0 {
			take = min(rows, left)
			left -= take
		}
		r.rows += take
		if r.st.explain != "" {
			r.hidePaths(chunk)
		}
		err := out.write(chunk, int64(take))
		duckdb.DestroyDataChunk(&chunk)
		if err != nil {
			return err
		}
	}
	return out.finish()
}

func (r *run) send(ipc []byte) error {
	r.sent = true
	if err := r.emit(ipc); err != nil {
		r.emitErr = err
		return err
	}
	return nil
}

// prepare prepares the statement; with a LIMIT of its own if it has none and the
// request has one, so that the engine need not sort or compute more.
func (r *run) prepare(s *session, limit uint64) (*prepared, error) {
	if limit > 0 && !r.st.limited && r.st.explain == "" {
		if p, err := prepare(s, r.text.withLimit(limit)); err == nil || r.ctx.Err() != nil || isBroken(err) {
			return p, err
		}
	}
	return prepare(s, r.text.sql)
}
