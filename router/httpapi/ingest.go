package httpapi

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/proto/words"
	"cordwood/router/httpapi/body"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/write"

	"github.com/cespare/xxhash/v2"
)

// Writer stores what a pipeline made of a request.
type Writer interface {
	// WriteKeyed returns an error with write.ErrSchemaChanged in its chain if the pipeline
	// should run again. The zero key is none.
	WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error)
	// Pressed tells whether rows for a table would most likely be refused because its
	// shards are busy, and when to try again.
	Pressed(database, table string) (retryAfter time.Duration, yes bool)
}

// maxPipelineRuns bounds how often a request's pipeline runs because tables changed
// under it. Every run after the first sees the change that the one before met.
const maxPipelineRuns = 3

// ingestResult is what there is to tell of a request that went well.
type ingestResult struct {
	written   write.Result
	skipped   int
	skippedBy pipeline.SkipCounts
	reasons   []pipeline.Reason
	expired   int // rows older than their table's ttl
	warnings  []string
	// stored says that skipped records are in svc_private.rejects.
	stored    bool
	writeCost time.Duration
}

// handleIngest stores the logs in the body of a request.
func (s *Server) handleIngest(w http.ResponseWriter, r *http.Request) {
	x := exchange.Of(r)
	x.PlainTimeout = true
	res, err := s.ingest(x, r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	s.answerIngest(w, x, res)
}

// ingest is the whole way of a request, in the order in which clients learn of their
// mistakes: parameters, body, meaning of the parameters, records, write.
func (s *Server) ingest(x *exchange.Exchange, r *http.Request) (ingestResult, error) {
	p, err := readIngestParams(r)
	if err != nil {
		return ingestResult{}, s.failedAt("parameters", err)
	}
	if p.replayed != nil {
		if err := p.replayed.permit(&x.Caller); err != nil {
			return ingestResult{}, s.failedAt("parameters", err)
		}
	}
	if err := s.cfg.Writable(); err != nil {
		return ingestResult{}, s.failedAt("disk", err)
	}
	if after, pressed := s.cfg.Writer.Pressed(p.database, p.table); pressed {
		// Before the body is read: what cannot be stored now must not take memory.
		return ingestResult{}, s.failedAt("busy", errs.New(errs.ShardBusy,
			"the shards of table %s.%s are busy: try again later", p.database, cutText(p.table)).WithRetryAfter(after))
	}
	if p.key.Text != "" {
		p.key.User = x.Caller.User
		if p.replayed != nil {
			p.key.User = replayUser
		}
		s.metrics.keyed.Inc()
	}
	begin := time.Now()
	_, span := tracing.Start(r.Context(), "read body")
	b, err := s.cfg.Bodies.Receive(x, r, x.Start, x.Deadline)
	if err == nil {
		span.Number("bytes", int64(len(b.Data)))
	}
	span.End(err)
	if err != nil {
		return ingestResult{}, s.failedAt("body", err)
	}
	defer b.Release()
	s.metrics.bodySeconds.Observe(time.Since(begin).Seconds())
	if err := p.check(s.cfg.Catalog); err != nil {
		return ingestResult{}, s.failedAt("parameters", err)
	}
	kind, err := native.KindOf(p.contentType)
	if err != nil {
		return ingestResult{}, s.failedAt("body", err)
	}
	if p.key.Text != "" {
		p.key.Body = max(xxhash.Sum64(b.Data), 1)
		if p.replayed == nil { // a reject that is stored is known through whichever pipeline it comes again
			p.key.Params = p.hash(kind)
		}
	}
	if p.pipeline != identityPipeline {
		p.compiled, p.compiledVersion, err = s.storedPipeline(r.Context(), p.pipeline, p.version, p.hasVersion)
		if err != nil {
			return ingestResult{}, s.failedAt("pipeline", err)
		}
	}
	for run := 1; ; run++ {
		res, err := s.ingestOnce(r.Context(), x, p, kind, b)
		if errors.Is(err, write.ErrSchemaChanged) && run < maxPipelineRuns {
			s.log.DebugContext(r.Context(), "pipeline runs again", "table", p.table, "run", run+1, "error", err)
			continue
		}
		if err == nil {
			db := s.metrics.dbs.Of(p.database)
			s.metrics.rows.WithLabelValues(db).Add(float64(res.written.Rows))
			s.metrics.bytes.WithLabelValues(db).Add(float64(len(b.Data)))
			s.metrics.expired.WithLabelValues(db).Add(float64(res.expired))
			for _, kind := range pipeline.SkipKinds() {
				if n := res.skippedBy[kind]; n > 0 {
					s.metrics.skipped.WithLabelValues(db, kind.String()).Add(float64(n))
				}
			}
		}
		return res, err
	}
}

// ingestOnce runs the pipeline over the body, on the tables as they are now, and writes.
func (s *Server) ingestOnce(ctx context.Context, x *exchange.Exchange, p *ingestParams, kind native.Kind, b *body.Body) (ingestResult, error) {
	q := &pipeline.Request{
		Database: p.database, Table: p.table, Catalog: s.cfg.Catalog, Pipeline: p.pipeline,
		TimeIndex: p.timeIndex, TimestampColumn: s.cfg.TimestampColumn,
		MaxNestedLevels: p.maxNestedLevels, MaxColumns: s.cfg.MaxColumns, MaxNewTables: s.cfg.MaxNewTables,
		SkipError: p.skipError, IgnoreErrors: p.ignoreErrors,
		Ended: ctx.Err, Steps: s.cfg.PipelineSteps,
		DatabaseTTL: databaseTTL(s.cfg.Catalog, p.database),
		Hints:       p.hints, AutoCreate: !s.cfg.NoAutoCreate, Now: s.cfg.Now, NoClientVariables: s.cfg.NoClientVariables,
	}
	repaired := 0
	opt := native.Options{SkipError: p.skipError, IgnoreErrors: p.ignoreErrors, OnRepair: func() { repaired++ }}
	store := p.onReject == rejectStore || p.onReject == "" && s.cfg.StoreRejects
	var kept *rejects
	if store {
		kept = newRejects(p, kind, s.cfg.Now().UnixNano(), s.cfg.RejectsTTL, s.cfg.Catalog)
		q.OnSkip, opt.OnRefuse = kept.onSkip, kept.onRefuse
		q.WholeRecords = true // a record that is kept is sent again whole
	}
	if p.replayed != nil {
		p.replayed.watch(q, store)
	}
	var leave func()
	q.Reserve = func(bytes int64) error {
		if b.TryReserve(bytes) {
			return nil
		}
		leave() // others may go on meanwhile, and make room
		err := b.Reserve(ctx, bytes)
		again, busy := s.running.enter(ctx)
		if busy != nil {
			leave = func() {}
			return cmp.Or(err, busy)
		}
		leave = again
		return err
	}
	runner, err := newRunner(p.compiled, q, s.lookup(ctx))
	if err != nil {
		return ingestResult{}, s.failedAt("pipeline", err)
	}
	defer runner.Release()
	if store {
		kept.Runner, runner = runner, kept
	}
	_, span := tracing.Start(ctx, "pipeline")
	span.Text("pipeline", p.pipeline)
	if leave, err = s.running.enter(ctx); err != nil {
		span.End(err)
		return ingestResult{}, s.failedAt("busy", err)
	}
	start := time.Now()
	err = native.Read(b.Data, kind, opt, runner)
	var out *pipeline.Output
	if err == nil {
		out, err = runner.Finish()
	}
	leave()
	s.metrics.pipelineSeconds.Observe(time.Since(start).Seconds())
	span.End(err)
	if err != nil {
		return ingestResult{}, s.failedAt("pipeline", err)
	}
	if p.replayed != nil {
		if err := p.replayed.check(out); err != nil {
			return ingestResult{}, s.failedAt("parameters", err)
		}
	}
	if x.TimedOut() {
		return ingestResult{}, s.failedAt("write", context.DeadlineExceeded)
	}
	// The body may have come for long, and the user may have lost the right meanwhile.
	if err := x.Caller.Require(x.Need); err != nil {
		return ingestResult{}, s.failedAt("write", err)
	}
	if err := s.newTables.charge(x.Caller.User, out, s.cfg.Now()); err != nil {
		return ingestResult{}, s.failedAt("write", err)
	}
	start = time.Now()
	writing, span := tracing.Start(ctx, "write")
	span.Text("db", p.database)
	span.Text("table", p.table)
	written, err := s.cfg.Writer.WriteKeyed(writing, out, p.key)
	span.Number("rows", int64(written.Rows))
	span.End(err)
	s.metrics.writeSeconds.Observe(time.Since(start).Seconds())
	if err != nil {
		if !errors.Is(err, write.ErrSchemaChanged) {
			err = s.failedAt("write", err)
		}
		return ingestResult{}, err
	}
	if p.replayed != nil {
		if err := s.noteReplayed(ctx, p); err != nil {
			return ingestResult{}, s.failedAt("write", err)
		}
	}
	if store {
		s.metrics.rejects.Add(float64(kept.rows.Rows()))
	}
	warnings := slices.Concat(p.warnings, out.Warnings)
	if repaired > 0 {
		warnings = append(warnings, words.Say(repaired, "line is not valid UTF-8: U+FFFD was stored in the place of what is not",
			"lines are not valid UTF-8: U+FFFD was stored in the place of what is not"))
	}
	if p.compiled != nil && p.timeIndex != nil {
		warnings = append(warnings, "custom_time_index has no effect: the pipeline "+p.pipeline+" says which field is the time")
	}
	expired, told := expiredRows(out)
	warnings = append(warnings, told...)
	return ingestResult{
		expired:  expired,
		warnings: warnings, stored: store, written: written, skipped: out.Skipped, skippedBy: out.SkippedBy, reasons: out.Reasons, writeCost: time.Since(start),
	}, nil
}

// maxExpiredTables bounds the tables that one answer names because of rows that had expired.
const maxExpiredTables = 4

// expiredRows are the rows of a request that are older than the ttl of their table: how many, and words for
// the client, who does not find them.
func expiredRows(out *pipeline.Output) (n int, warnings []string) {
	for _, t := range out.Tables {
		if t.Expired == 0 || t.Discard {
			continue
		}
		if n += t.Expired; len(warnings) < maxExpiredTables {
			warnings = append(warnings, t.ExpiredWarning())
		}
	}
	return n, warnings
}

// databaseTTL is the ttl of a database, or nothing.
func databaseTTL(catalog Catalog, name string) string {
	if db, ok := catalog.Database(name); ok {
		return db.Options[schema.OptionTTL]
	}
	return ""
}

// failedAt counts a request that failed, by its stage.
func (s *Server) failedAt(stage string, err error) error {
	s.metrics.failed.WithLabelValues(stage).Inc()
	return err
}

// answerIngest answers a request that went well.
func (s *Server) answerIngest(w http.ResponseWriter, x *exchange.Exchange, res ingestResult) {
	h := w.Header()
	h.Set(exchange.HeaderFormat, "svcdb_v1")
	h.Set(exchange.HeaderMetrics, `{"svc_exec_write_cost":`+strconv.FormatInt(res.writeCost.Milliseconds(), 10)+`}`)
	h.Set(exchange.HeaderSkipped, strconv.Itoa(res.skipped))
	if res.expired > 0 {
		h.Set(exchange.HeaderExpired, strconv.Itoa(res.expired))
	}
	if len(res.reasons) > 0 {
		h.Set(exchange.HeaderSkipReasons, skipReasons(res.reasons))
	}
	for _, warning := range slices.Concat(res.warnings, res.written.Warnings) {
		h.Add(exchange.HeaderWarnings, exchange.HeaderText(warning))
	}
	millis := strconv.FormatInt(x.Millis(), 10)
	h.Set(exchange.HeaderExecutionTime, millis)

	out := make([]byte, 0, 128)
	out = append(out, '{')
	if len(res.written.Groups) > 0 {
		out = append(out, `"output":[`...)
		for i, g := range res.written.Groups {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, `{"affectedrows":`...)
			out = strconv.AppendInt(out, int64(g.AffectedRows), 10)
			out = append(out, '}')
		}
		out = append(out, `],`...)
	}
	if res.skipped > 0 {
		out = appendSkipped(out, res)
	}
	out = append(out, `"execution_time_ms":`...)
	out = append(out, millis...)
	out = append(out, '}')
	exchange.WriteJSON(w, http.StatusOK, out)
}

// appendSkipped appends the report of skipped records: how many, and why the first.
func appendSkipped(out []byte, res ingestResult) []byte {
	out = append(out, `"skipped":{"count":`...)
	out = strconv.AppendInt(out, int64(res.skipped), 10)
	if res.stored {
		out = append(out, `,"stored_in":"svc_private.rejects"`...)
	}
	out = append(out, `,"reasons":[`...)
	for i, r := range res.reasons {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, `{"index":`...)
		out = strconv.AppendInt(out, int64(r.Index), 10)
		out = append(out, `,"kind":"`...)
		out = append(out, r.Kind.String()...)
		out = append(out, `","error":`...)
		out = exchange.AppendJSONString(out, r.Error)
		out = append(out, '}')
	}
	return append(out, `]},`...)
}
