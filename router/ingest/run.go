package ingest

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/tracing"
	"cordwood/proto/turns"
	"cordwood/proto/words"
	"cordwood/router/ingest/native"
	"cordwood/router/pipeline"
	"cordwood/router/pipelines"
	"cordwood/router/write"
)

const (
	// maxPipelineRuns limits how often a batch's pipeline runs because tables changed. Each further run uses the
	// change because of which the previous run failed.
	maxPipelineRuns = 3
	// maxParallel limits the number of batches of one request that are stored concurrently.
	maxParallel = 4
)

// Store stores the batches of a request separately, and returns their outcomes in order.
func (s *Service) Store(ctx context.Context, q *Request) []Outcome {
	out := make([]Outcome, len(q.Batches))
	if len(q.Batches) == 1 {
		s.guarded(ctx, q, q.Batches[0], q.Memory, &out[0])
		return out
	}
	shared, columns := &sharedMemory{all: q.Memory}, pipeline.ShareNewColumns(len(q.Batches))
	excess := s.tooManyTables(q.Batches)
	var g errgroup.Group
	g.SetLimit(maxParallel)
	for i, b := range q.Batches {
		if excess[i] {
			out[i] = Outcome{Err: s.Failed(q.Protocol, StageParameters, errs.New(errs.RateLimited,
				"table %s.%s would be one more than %d new tables in one request (--max-new-tables-per-request): send its "+
					"records again", b.Database, cutText(b.Table), s.cfg.MaxNewTables).WithRetryAfter(time.Second))}
			continue
		}
		g.Go(func() error {
			m := shared.part()
			defer m.release()
			b.newColumns = &columns[i]
			s.guarded(ctx, q, b, m, &out[i])
			return nil
		})
	}
	_ = g.Wait() // the errors are in the outcomes
	return out
}

// store stores a batch: it checks the parameters, finds the pipeline, and runs it until its rows fit the table.
func (s *Service) store(ctx context.Context, q *Request, b *Batch, m Memory, out *Outcome) {
	if err := s.Check(ctx, b); err != nil {
		out.Err = s.Failed(q.Protocol, StageParameters, err)
		return
	}
	s.setKey(q, b)
	if err := s.findPipeline(ctx, q.Caller, b); err != nil {
		out.Err = s.Failed(q.Protocol, StagePipeline, err)
		return
	}
	var until time.Time
	for run := 1; ; run++ {
		out.Err = s.once(ctx, q, b, m, out)
		switch {
		case out.Err == nil:
			s.metrics.of(q.Protocol).stored(b, out)
			return
		case errors.Is(out.Err, write.ErrSchemaChanged) && run < maxPipelineRuns:
			s.log.DebugContext(ctx, "pipeline runs again", "table", b.Table, "run", run+1, "error", out.Err)
			continue
		case b.Each && b.full == nil && tablesUsedUp(out.Err):
			b.full = errs.From(out.Err).Quota
			run-- // this happens only once: now the records for new tables fail, and the others are stored
			continue
		case errors.Is(out.Err, errNewerView):
			run-- // this happens only once, and nothing was written
			continue
		case q.Wait && busy(out.Err):
			if until.IsZero() {
				until = time.Now().Add(pressedWait)
			}
			if !time.Now().Before(until) ||
				s.waitWhile(ctx, func() bool { _, yes := s.cfg.Writer.Pressed(b.Database, b.Table); return yes }) != nil {
				return
			}
			run = 0
			continue
		}
		return
	}
}

// tablesUsedUp reports whether nothing was stored because the database may have no further table.
func tablesUsedUp(err error) bool {
	if err == nil || !nothingStored(err) {
		return false
	}
	q := errs.From(err).Quota
	return q != nil && q.Name == schema.QuotaTables
}

// busy reports whether nothing was stored because the server is busy.
func busy(err error) bool { return errs.CodeOf(err) == errs.ShardBusy && nothingStored(err) }

// job is one run of a batch's pipeline.
type job struct {
	s *Service
	q *Request
	b *Batch
	m Memory

	request  pipeline.Request
	seen     seenTables
	opt      native.Options
	kept     *rejects // nil if refused records are dropped
	rows     int64    // the memory that the pipeline requested
	refused  []pipeline.Reason
	repaired int
	place    *turns.Place // among the running pipelines
	made     madeTables
	bodyRun  bodyRun // the run, if the input is a Body
}

// once runs the pipeline over the input with the current tables, and writes the rows. It fills in out unless it
// returns an error.
func (s *Service) once(ctx context.Context, q *Request, b *Batch, m Memory, out *Outcome) error {
	j := &job{s: s, q: q, b: b, m: m}
	if b.newColumns != nil {
		b.newColumns.GiveBack()
	}
	in, err := j.open(ctx)
	if err != nil {
		return s.Failed(q.Protocol, StagePipeline, err)
	}
	defer in.Release()
	defer func() { j.place.Leave() }()
	made, err := j.run(ctx, in)
	if err != nil {
		return err
	}
	if err := j.permit(ctx, made); err != nil {
		return err
	}
	rows := made.Rows()
	if j.kept != nil {
		rows += int64(j.kept.rows.Rows())
	}
	if err := s.takeRows(q, b, rows); err != nil {
		s.giveBack(j.made)
		return s.Failed(q.Protocol, StageQuota, err)
	}
	if err := j.write(ctx, made, out); err != nil {
		s.giveBack(j.made)
		if nothingStored(err) {
			s.cfg.Quotas.GiveBack(b.Database, rows, 0)
		}
		return err
	}
	return nil
}

// open prepares a run that makes rows from the input.
func (j *job) open(ctx context.Context) (run, error) {
	s, b := j.s, j.b
	q := &j.request
	j.seen.Catalog = s.cfg.Catalog
	*q = pipeline.Request{
		Database: b.Database, Table: b.Table, Catalog: &j.seen, Pipeline: b.Pipeline,
		TimeIndex: b.timeIndex, TimestampColumn: s.cfg.TimestampColumn,
		MaxNestedLevels: b.MaxNestedLevels, MaxColumns: s.cfg.MaxColumns, MaxNewTables: s.cfg.MaxNewTables,
		MaxMadeColumns: s.cfg.MaxMadeColumns, MaxNewColumns: s.cfg.MaxNewColumns,
		NewColumns: b.newColumns,
		SkipError:  b.SkipError, IgnoreErrors: b.IgnoreErrors,
		Ended: func() error {
			s.cfg.Places.Yield()
			return ctx.Err()
		},
		Steps:       s.cfg.PipelineSteps,
		DatabaseTTL: DatabaseTTL(s.cfg.Catalog, b.Database),
		Tags:        b.Tags, JSON: b.JSON, Hints: b.Hints, AutoCreate: !s.cfg.NoAutoCreate, Now: s.cfg.Now,
		NoClientVariables: s.cfg.NoClientVariables, AdviseTime: j.q.Protocol == Native,
	}
	if caller := j.q.Caller; caller.Grants != nil {
		q.Permit = func(table string, exists bool) error { return permitTable(caller, b.Database, table, exists) }
	}
	j.opt = native.Options{SkipError: b.SkipError, IgnoreErrors: b.IgnoreErrors, OnRepair: func() { j.repaired++ }}
	if b.Each {
		q.OnSkip = j.note
		q.MayCreate = func(table string) error { return s.mayCreate(b, table) }
		q.ColumnQuota = columnQuota(s.cfg.Catalog, b.Database)
	}
	if b.OnReject == StoreRejects || b.OnReject == "" && s.cfg.StoreRejects {
		j.kept = newRejects(b, s.cfg.Now().UnixNano(), s.cfg.RejectsTTL, s.cfg.Catalog)
	}
	if j.m != nil {
		q.Reserve = func(bytes int64) error {
			j.rows = bytes
			return j.reserve(ctx)
		}
		if j.kept != nil {
			j.kept.reserve = func() error { return j.reserve(ctx) }
		}
	}
	return b.Input.open(ctx, j)
}

// mayCreate returns an error if the quota of tables does not allow a table that does not exist here. A refusal counts
// until the end of the request: the writer forgets it when the metadata changes, and the pipeline would run in vain.
func (s *Service) mayCreate(b *Batch, table string) error {
	if err := s.cfg.Writer.Full(b.Database, table); err != nil || b.full == nil {
		return err
	}
	return schema.TooManyTables(b.Database, table, b.full.Limit, b.full.Value)
}

// both returns a function that calls first, unless it is nil, and then second.
func both(first, second func(pipeline.Reason)) func(pipeline.Reason) {
	if first == nil {
		return second
	}
	return func(r pipeline.Reason) { first(r); second(r) }
}

// maxTexts limits the number of refused records of a batch for which the whole error is kept.
const maxTexts = 1000

// failedAlike has the short errors for refused records beyond maxTexts, by step.
var failedAlike = func() map[pipeline.SkipKind]string {
	texts := map[pipeline.SkipKind]string{}
	for _, kind := range pipeline.SkipKinds() {
		texts[kind] = "it failed like other records of the request, at the step " + kind.String()
	}
	return texts
}()

// note records a refused record for Outcome.Refused.
func (j *job) note(r pipeline.Reason) {
	if len(j.refused) >= maxTexts {
		r.Error = failedAlike[r.Kind]
	}
	j.refused = append(j.refused, r)
}

// reserve reserves memory for rows and rejects. While a request waits for memory, another pipeline may use its place
// among the running ones.
func (j *job) reserve(ctx context.Context) error {
	bytes := j.rows
	if j.kept != nil {
		bytes += j.kept.reserved
	}
	if j.m.TryReserve(bytes) {
		return nil
	}
	j.place.Leave() // so that others can run in the meantime and free memory
	err := j.m.Reserve(ctx, bytes)
	return cmp.Or(err, j.enter(ctx))
}

// runningWait is the default time that a request waits for its pipeline to start.
const runningWait = 2 * time.Second

// enter waits for a place among the running pipelines.
func (j *job) enter(ctx context.Context) (err error) {
	j.place, err = j.s.cfg.Places.Enter(ctx, j.b.Database, j.maxWait())
	if errors.Is(err, turns.ErrNoPlace) {
		err = errs.New(errs.ShardBusy, "all places for pipelines are taken (%d), and many requests wait: try again later",
			j.s.Running()).WithRetryAfter(runningWait)
	}
	return err
}

// maxWait returns how long the request may wait for a place among the running pipelines.
func (j *job) maxWait() time.Duration {
	if j.q.Wait {
		return pressedWait
	}
	return runningWait
}

// run runs the pipeline over the input.
func (j *job) run(ctx context.Context, in run) (*pipeline.Output, error) {
	s := j.s
	_, span := tracing.Start(ctx, "pipeline")
	span.Text("pipeline", j.b.Pipeline)
	err := j.enter(ctx)
	if err != nil {
		span.End(err)
		return nil, s.Failed(j.q.Protocol, StageBusy, err)
	}
	start := time.Now()
	err = in.fill()
	var out *pipeline.Output
	if err == nil {
		out, err = in.Finish()
	}
	s.metrics.of(j.q.Protocol).pipelineSeconds.Observe(time.Since(start).Seconds())
	span.End(err)
	if newer := j.outdated(ctx, out, err); errors.Is(newer, errNewerView) {
		return nil, newer
	} else if newer != nil {
		err = newer
	}
	if err != nil {
		return nil, s.Failed(j.q.Protocol, StagePipeline, err)
	}
	return out, nil
}

// permit makes the checks between pipeline and write.
func (j *job) permit(ctx context.Context, out *pipeline.Output) error {
	s, protocol := j.s, j.q.Protocol
	if j.b.Replayed != nil {
		if err := j.b.Replayed.check(out); err != nil {
			return s.Failed(protocol, StageParameters, err)
		}
	}
	if d := j.q.Deadline; !d.IsZero() && !time.Now().Before(d) {
		return s.Failed(protocol, StageWrite, context.DeadlineExceeded)
	}
	// The body may have taken a long time to arrive, so the user's rights are checked again.
	last := ""
	for _, t := range out.Tables {
		if t.Internal || t.Table == last {
			continue
		}
		last = t.Table
		if err := permitTable(j.q.Caller, t.Database, t.Table, t.Existing != nil || t.NoCreate); err != nil {
			return s.Failed(protocol, StageWrite, err)
		}
	}
	var err error
	if j.made, err = s.newTables.charge(j.q.Caller.User, out, s.cfg.Now()); err != nil {
		return s.Failed(protocol, StageWrite, err)
	}
	return nil
}

// write stores the rows, and fills in the outcome unless it returns an error.
func (j *job) write(ctx context.Context, out *pipeline.Output, outcome *Outcome) error {
	s, b := j.s, j.b
	start := time.Now()
	// Encoding the rows needs the place too. The writer frees it before it waits.
	writing, span := tracing.Start(turns.WithPlace(ctx, j.place), "write")
	span.Text("db", b.Database)
	span.Text("table", b.Table)
	written, err := s.cfg.Writer.WriteKeyed(writing, out, b.key)
	span.Number("rows", int64(written.Rows))
	span.End(err)
	s.metrics.of(j.q.Protocol).writeSeconds.Observe(time.Since(start).Seconds())
	if err != nil {
		if !errors.Is(err, write.ErrSchemaChanged) {
			err = s.Failed(j.q.Protocol, StageWrite, err)
		}
		return err
	}
	if b.Replayed != nil {
		if err := s.noteReplayed(ctx, b); err != nil {
			return s.Failed(j.q.Protocol, StageWrite, err)
		}
	}
	if j.kept != nil {
		s.metrics.of(j.q.Protocol).rejects.Add(float64(j.kept.rows.Rows()))
	}
	warnings := slices.Clone(out.Warnings)
	if j.repaired > 0 {
		warnings = append(warnings, words.Say(j.repaired,
			"line is not valid UTF-8: U+FFFD was stored for each invalid part",
			"lines are not valid UTF-8: U+FFFD was stored for each invalid part"))
	}
	if b.compiled != nil && b.timeIndex != nil {
		warnings = append(warnings, "custom_time_index has no effect: the pipeline "+b.Pipeline+
			" defines the field with the time")
	}
	expired, expiredWarnings := ExpiredRows(out)
	*outcome = Outcome{
		Written: written, Records: out.Records, Skipped: out.Skipped, SkippedBy: out.SkippedBy, Reasons: out.Reasons,
		Refused: j.refused, Dropped: out.Dropped,
		Kept: j.kept != nil, Expired: expired, Warnings: append(warnings, expiredWarnings...), WriteTime: time.Since(start),
	}
	return nil
}

// checkPipeline checks the name and version of the pipeline.
func (b *Batch) checkPipeline() error {
	if _, direct := b.Input.(Columns); direct {
		return nil
	}
	if b.Pipeline == "" {
		return errs.New(errs.InvalidArguments, "pipeline_name is required: %s stores records as they are", IdentityPipeline)
	}
	if b.HasVersion {
		if _, err := pipelines.ParseVersion(b.Version); err != nil {
			return err
		}
	}
	if !b.HasTimeIndex {
		return nil
	}
	var err error
	b.timeIndex, err = pipeline.ParseTimeIndex(b.TimeIndex)
	return err
}
