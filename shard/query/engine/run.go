package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/direct"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// Query runs a SELECT, or an EXPLAIN of one, and passes the answer to emit as consecutive pieces of
// an Arrow IPC stream: a schema, record batches, an end marker. emit must not keep the bytes. If
// emit returns an error, the query stops and Query returns the error. The first piece is sent after
// the first megabyte of rows or at the end, so most failures occur before it.
//
// When ctx ends, the query ends within a fraction of a second, with errs.QueryTimeout if the
// deadline has passed and with errs.Cancelled otherwise. After Query has returned, nothing refers
// to the segments and batches of req.
//
// Columns of type JSON have the field metadata cordwood.type = Json. DuckDB types that Arrow lacks,
// or that many clients cannot read, are sent as text: see DESIGN.md.
//
// Besides the errors of Analyze it returns errs.TableNotFound if req lacks a table,
// errs.ColumnNotFound, errs.PlanQuery, errs.InvalidArguments for values that cannot be converted or
// computed, and errs.RuntimeResourcesExhausted.
func (e *Engine) Query(ctx context.Context, req *query.Request, emit func(ipc []byte) error) error {
	st, req, err := e.study(ctx, req)
	if err != nil {
		return err
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &run{ctx: ctx, stop: stop, engine: e, in: in, st: st, request: req, emit: emit}
	if req.Partials != nil {
		err = r.finish()
	} else {
		err = r.run()
	}
	e.release(in, sql.IsBroken(err))
	if r.emitting != nil {
		// The rows are free now; the client still gets the piece that it has begun to read.
		r.emitErr = <-r.emitting
	}
	if err == nil {
		return nil
	}
	if r.emitErr != nil {
		return r.emitErr
	}
	if ctx.Err() != nil {
		err = contextError(ctx)
		duck.GiveBackAfter(err)
		return err
	}
	if sql.IsBroken(err) {
		e.cfg.Logger.Error("query failed in the engine", "error", err, "sql", req.SQL)
	}
	hint := sql.DottedName(err, r.text, req.Tables)
	err = sql.ToClient(err, r.text)
	if own := (*errs.Error)(nil); hint != "" && errors.As(err, &own) {
		own.Msg += hint
	}
	duck.GiveBackAfter(err)
	return err
}

// run is the state of a running query.
type run struct {
	ctx context.Context
	// stop ends ctx.
	stop    context.CancelCauseFunc
	engine  *Engine
	in      *database
	st      *studied
	request *query.Request
	text    *sql.Rewritten
	emit    func([]byte) error
	*plan.Planned
	now time.Time
	// session is the connection on which the statement runs. It is nil until it is needed.
	session *duck.Session
	// sources are what the statement's references to tables read, in the order of the references.
	sources  []*plan.Source
	shadowed map[string]string
	// answer are the columns of the statement's answer, once it is being split.
	answer []duck.Column
	// tables identifies the tables of a last step, once it is needed.
	tables string
	// times are the edits that convert integers to times.
	times []sql.Edit
	// rows counts the rows that were sent.
	rows uint64
	// ran means that the statement was prepared and began to run. sent means that a part of the
	// answer was sent.
	ran, sent bool
	// whole means that the statement needs columns that it does not seem to read.
	whole bool
	// emitErr is the error that emit returned.
	emitErr error
	// ready is about the memory of the rows that are ready to be sent, or of one chunk of them if it is small.
	ready int64
	// emitting gets the result of a call of emit that had not returned when the query ended.
	emitting <-chan error
}

// executor is a method of answering a statement.
type executor struct {
	// name switches the executor off, as the name of a reduction does.
	name string
	// answer answers the statement. If it cannot, it returns false and has sent nothing.
	answer func(r *run) (done bool, err error)
}

// executors are tried in this order. The last one answers every statement.
var executors = []executor{
	{"count", (*run).answerCount},
	{"direct", (*run).answerDirectly},
	{"newest", (*run).answerNewest},
	{"kept", (*run).answerFromKept},
	{"weighted", (*run).answerWeighted},
	{"parts", (*run).answerByParts},
	{"all", (*run).answerFromAll},
}

func (r *run) run() error {
	if err := r.plan(); err != nil {
		return err
	}
	defer r.close()
	for _, x := range executors {
		if r.engine.settings.Off[x.name] {
			continue
		}
		if done, err := x.answer(r); done || err != nil {
			return err
		}
		if err := r.ctx.Err(); err != nil {
			return err // it may be why the executor could not answer
		}
	}
	return nil
}

// connect opens the session. The session is interrupted when the context ends.
func (r *run) connect() (err error) {
	if r.session == nil {
		r.session, err = r.in.Connect()
	}
	return err
}

// close frees the session first, and then the batches that the session could read.
func (r *run) close() {
	if r.session != nil {
		r.session.Close()
	}
	r.release()
}

// answerDirectly answers statements for whole rows of one table without DuckDB.
func (r *run) answerDirectly() (done bool, err error) {
	if r.st.Explain != "" {
		return false, nil
	}
	rows, ok := r.readDirectly()
	if !ok {
		return false, nil
	}
	r.engine.direct.Add(1)
	r.ready = rows.Bytes()
	return true, rows.Answer(r.send)
}

// readDirectly returns the rows of the answer if the direct executor can find them.
func (r *run) readDirectly() (*direct.Rows, bool) {
	d := direct.New(r.ctx, r.st.direct, r.Planned, r.request.Limit, r.now)
	if d == nil || r.engine.settings.Off["direct"] {
		return nil, false
	}
	pruned := d.Plan.Pruned
	rows, ok := d.Read()
	if !ok {
		d.Plan.Pruned = pruned
	}
	return rows, ok
}

// answerFromAll runs the statement over all rows that the reductions did not exclude.
func (r *run) answerFromAll() (done bool, err error) {
	err = r.bind(r.execute)
	return err == nil, err
}

// bind rewrites the statement and calls f. If DuckDB requires times in place of integers, or does
// not know a column, it calls f again: with the integers converted, or with all columns.
func (r *run) bind(f func() error) error {
	if err := r.rewrite(false); err != nil {
		return err
	}
	err := f()
	for range maxIntegers {
		edits := r.integersAsTimes(err)
		if r.sent || len(edits) == 0 {
			break
		}
		r.times, r.ran, r.rows = append(r.times, edits...), false, 0
		if err := r.rewrite(false); err != nil {
			return err
		}
		err = f()
	}
	if !r.ran && sql.IsBinding(err) {
		// A name is not a column: run again with all columns, so that DuckDB's message can contain
		// them.
		withTruncs := len(r.Truncs) > 0
		r.Truncs = nil
		if err := r.rewrite(true); err != nil {
			return err
		}
		if err = f(); !withTruncs && (!sql.IsBinding(err) || r.ran) {
			r.whole = true
			r.engine.whole.Add(1)
		}
	}
	return err
}

// errLarge stops an attempt whose answer is too large to be held back.
var errLarge = errors.New("too large to be kept")

// answerNewest runs a query for the newest or the oldest rows over more and more rows until it
// finds as many as the query asks for.
func (r *run) answerNewest() (done bool, err error) {
	if r.st.shape.Newest == nil || r.st.Explain != "" {
		return false, nil
	}
	limit := r.request.Limit
	p := r.Plans[r.st.shape.Newest.Ref]
	want := r.st.shape.Newest.Limit
	if want == 0 || limit > 0 && limit < want {
		want = limit
	}
	emit := r.emit
	defer func() { r.emit, r.ran, r.sent, r.rows = emit, false, false, 0 }()
	defer p.EndTrying()
	var kept [][]byte
	size := 0
	r.emit = func(ipc []byte) error {
		if size += len(ipc); size > plan.MaxKept {
			return errLarge
		}
		kept = append(kept, bytes.Clone(ipc))
		return nil
	}
	for at := range p.Attempts(limit) {
		p.Try(at)
		r.rows, kept, size = 0, kept[:0], 0
		if err := r.rewrite(false); err != nil {
			return false, err
		}
		if err := r.execute(); err != nil {
			r.emitErr = nil
			if sql.IsBroken(err) || r.ctx.Err() != nil {
				return false, err
			}
			return false, nil // the run over all rows reports the error
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

// rewrite replaces the tables in the statement's text with the queries of their rows. If whole is
// set, these have all columns.
func (r *run) rewrite(whole bool) error {
	r.release()
	texts := make([]string, len(r.Plans))
	for i, p := range r.Plans {
		src, err := p.Source(r.ctx, whole)
		if err != nil {
			return err
		}
		r.sources = append(r.sources, src)
		if texts[i], err = src.SQL(duck.RegisterBatches); err != nil {
			return errs.Wrap(errs.Internal, err, "table %s", p.Ref.Name)
		}
	}
	calls := slices.Clone(r.times)
	for _, call := range r.Searches {
		calls = append(calls, call.Edits()...)
	}
	for _, call := range r.Truncs {
		// DuckDB's own function is as fast for constants.
		if src := r.sources[call.Ref]; len(src.Plain)+len(src.Merges) > 0 {
			calls = append(calls, call.Edits()...)
		}
	}
	var err error
	r.text, err = r.st.Rewrite(texts, r.shadowed, calls)
	return err
}

// release ends DuckDB's access to the batches.
func (r *run) release() {
	for _, src := range r.sources {
		src.Release()
	}
	r.sources = nil
}

// execute runs the rewritten statement and streams its rows.
func (r *run) execute() error {
	if err := r.connect(); err != nil {
		return err
	}
	defer r.session.Watch(r.ctx)()
	p, err := r.prepare()
	if err != nil {
		return err
	}
	defer p.Close()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.ran = true
	r.restoreNames(p.Names)
	answer := &duck.Answer{Limit: r.request.Limit, Emit: r.send, Chunk: r.chunk, Rows: &r.rows}
	if r.st.Explain != "" {
		answer.Clean = r.withoutPaths
	}
	if r.st.ExplainsInText() && len(r.Plans) > 0 && len(p.Names) == 2 {
		answer.First = [][2]string{{"segments", r.summary()}}
		if text := plan.ColdSummary(r.Plans); text != "" {
			answer.First = append(answer.First, [2]string{"cold", text})
		}
		if r.request.Note != "" {
			answer.First = append([][2]string{{"split", r.request.Note}}, answer.First...)
		}
	}
	return p.Run(r.ctx, answer)
}

// restoreNames replaces rewritten expressions in column names with the client's text.
func (r *run) restoreNames(names []string) {
	for i := range names {
		for _, call := range r.Searches {
			names[i] = call.Restore(names[i])
		}
		for _, call := range r.Truncs {
			names[i] = call.Restore(names[i])
		}
	}
	if r.text != nil { // without a text nothing was rewritten, and DuckDB did not run
		r.text.OwnNames(names)
	}
	if r.st.asked != nil {
		r.st.asked.OwnNames(names, r.st.Statement)
	}
	r.ownCase(names)
}

// prepare prepares the statement. If the statement has no LIMIT and the request has one, it adds
// this LIMIT, so that DuckDB does not sort or compute more rows.
func (r *run) prepare() (*duck.Prepared, error) {
	if limit := r.request.Limit; limit > 0 && !r.st.Limited && r.st.Explain == "" {
		if p, err := duck.Prepare(r.session, r.text.WithLimit(limit)); err == nil || r.ctx.Err() != nil || sql.IsBroken(err) {
			return p, err
		}
	}
	return duck.Prepare(r.session, r.text.SQL)
}

// ownCase replaces the name under which DuckDB knows a column with the column's own name in the
// header.
func (r *run) ownCase(names []string) {
	for own, exposed := range r.shadowed {
		if r.st.Words[sql.LowerASCII(exposed)] > 0 {
			continue // the client uses this name for something
		}
		for i, name := range names {
			if name == exposed {
				names[i] = own
			}
		}
	}
}
