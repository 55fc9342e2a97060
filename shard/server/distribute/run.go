package distribute

import (
	"context"
	"errors"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/tracing"
	"cordwood/shard/query"
	"cordwood/shard/query/partial"
)

// Run answers the query if the statement was split. If rows have to be fetched, it returns false and has sent
// nothing.
func (d *Statement) Run(ctx context.Context, out Answer) (done bool, err error) {
	d.out = out
	if d.split.Reason != "" {
		return false, nil
	}
	ctx, span := tracing.Start(ctx, "ask nodes")
	span.Number("nodes", int64(len(d.parts)))
	defer func() { span.End(err) }()
	// An answer begins with what is missing. So rows can be sent before all nodes have answered
	// only if nothing may be missing.
	if d.split.Final == "" && d.split.Explain == "" && !d.req.AllowPartial {
		return d.passOn(ctx)
	}
	defer func() { d.nodes.partials.Add(-d.bytes.Load()) }()
	if d.split.Explain == "" || query.Analyzes(d.split.Explain) {
		begin := time.Now()
		if err := d.askBlocks(ctx); err != nil {
			return d.fetchInstead(ctx, err)
		}
		d.asked = time.Since(begin)
	}
	if d.split.Explain != "" {
		if d.blocks == nil {
			d.nodes.explainNodes(ctx, d)
		} else {
			d.nodes.explainNodes(ctx, d.different()...)
		}
	}
	return d.finish(ctx)
}

// fetchInstead decides whether err ends the query (done), or whether rows are fetched instead. They are
// fetched if the partial results are too large. They are also fetched if the statement has an
// error, so that the error refers to the client's own text.
func (d *Statement) fetchInstead(ctx context.Context, err error) (done bool, _ error) {
	if ctx.Err() == nil && errors.Is(err, errTooLarge) {
		d.nodes.large.add(d.statement())
	}
	if !fetchesInstead(ctx, err) {
		return true, err
	}
	d.failed = err
	return false, nil
}

// fetchesInstead reports whether rows are fetched after an error.
func fetchesInstead(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch errs.CodeOf(err) {
	case errs.InvalidArguments, errs.PlanQuery, errs.ColumnNotFound, errs.InvalidSyntax, errs.Unsupported, errs.Internal,
		errs.Unexpected:
		return true
	}
	return false
}

// finish computes the answer from the answers of the nodes.
func (d *Statement) finish(ctx context.Context) (done bool, err error) {
	d.progress.Enter(PhaseFinish)
	if key := d.knownKey(); key != "" {
		var ipc []byte
		if ipc, d.copying = d.nodes.known.get(key, d.streams()); ipc != nil {
			d.copying = false
			return true, d.send(ipc)
		}
		defer func() {
			if done && err == nil && d.copying {
				d.nodes.known.put(key, d.streams(), d.copied)
			}
		}()
	}
	return d.combine(ctx)
}

// combine computes the answer from the answers of the nodes, here or in the engine.
func (d *Statement) combine(ctx context.Context) (done bool, err error) {
	if done, err := d.mergeHere(); done {
		return true, err
	}
	worker, partials := d.partialsOf()
	if err := d.sendMissing(); err != nil {
		return true, err
	}
	err = d.nodes.cfg.Engine.Query(ctx, &query.Request{
		SQL: worker, Database: d.req.Database,
		Tables: d.bareTables(),
		Limit:  d.req.Limit, Partials: partials, Note: d.Note(),
	}, d.send)
	if err != nil && !d.sent && len(d.missing) == 0 {
		return d.fetchInstead(ctx, err)
	}
	return true, err
}

// mergeHere makes the answer without the engine, if possible: for the first rows by time, and for groups whose values
// are only combined and sorted.
func (d *Statement) mergeHere() (done bool, err error) {
	if d.split.Explain != "" || d.counted {
		return false, nil
	}
	var ipc []byte
	switch n, c := d.split.Newest, d.split.Combine; {
	case n != nil && n.Limit+n.Offset <= maxMerged:
		if ipc, err = merge(d.sorted(), n); err != nil {
			return false, nil //nolint:nilerr // the engine reports the error, or the rows are fetched
		}
	case c != nil:
		var ok bool
		if ipc, ok = partial.Answer(d.streams(), c, d.req.Limit); !ok {
			return false, nil
		}
	default:
		return false, nil
	}
	if err := d.sendMissing(); err != nil {
		return true, err
	}
	return true, d.send(ipc)
}

// send sends bytes of the answer. It counts the statement as split before it sends the first of them, so that a client
// that has the answer finds it counted.
func (d *Statement) send(ipc []byte) error {
	if !d.sent {
		d.nodes.metrics.count(d, true)
	}
	d.sent = true
	d.copy(ipc)
	return d.out.Rows(ipc)
}

// sendMissing sends texts about what is missing in the answer, before the rows.
func (d *Statement) sendMissing() error {
	if len(d.missing) == 0 {
		return nil
	}
	return d.out.Missing(d.missing)
}

// Fetched counts the statement as one whose rows are fetched, after Run has returned false.
func (d *Statement) Fetched() { d.nodes.metrics.count(d, false) }
