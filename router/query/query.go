// Package query runs SQL for clients: it tells statements apart, answers those that
// define and describe databases and tables from the metadata, puts small inserts on
// the write path, and has the engine of a shard node run everything that reads rows.
//
// It does not parse SELECT, nor evaluate anything: package statement knows our own
// statements, the engine its own. What it adds to a SELECT is the list of tables that
// the statement may see: the rows of a shard with the moment before which they have
// expired, or, for a system table, rows made on the spot.
//
// A Service is made once and has no goroutines of its own and nothing to close.
// Execute may be called concurrently. How many SELECTs run at a time is bounded; a
// few more wait, others are refused.
package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
	"cordwood/proto/zone"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/pipeline"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// Meta is the part of the metadata client that a Service needs.
type Meta interface {
	// Propose puts a command through the metadata log; what it changed is in the local
	// view before it returns.
	Propose(ctx context.Context, cmd *metapb.Command) (*metapb.Result, error)
	// Fresh waits until the local view holds all that was acknowledged before the call.
	Fresh(ctx context.Context) error
	Database(name string) (*schemapb.Database, bool)
	Databases() []*schemapb.Database
	Table(database, name string) (*schema.Table, bool)
	Tables(database string) []*schema.Table
	TableByID(id uint64) (*schema.Table, bool)
	Shards() []*metapb.Shard
	Nodes() []*metapb.Node
	Operations() []*metapb.Operation
	// Status asks the leader of the metadata group how the cluster is.
	Status(ctx context.Context) (*metapb.StatusResponse, error)
	// EachPipelineText reads every version of every pipeline.
	EachPipelineText(ctx context.Context, f func(p *metapb.PipelineVersion, source []byte) error) error
}

// Shards is the part of the shard client that a Service needs.
type Shards interface {
	Analyze(ctx context.Context, req *shardpb.AnalyzeRequest) (*shardpb.AnalyzeResponse, error)
	// DefineTables puts definitions into a shard's log.
	DefineTables(ctx context.Context, shard uint32, tables []*schemapb.Table) error
	// Query answers with an Arrow IPC stream, which must be closed.
	Query(ctx context.Context, req *shardpb.QueryRequest) (io.ReadCloser, error)
	Stats(ctx context.Context, req *shardpb.StatsRequest) ([]*shardpb.ShardStats, error)
}

// Writer is the write path, for INSERT and DELETE.
type Writer interface {
	Write(ctx context.Context, out *pipeline.Output) (write.Result, error)
	// WriteKeyed is Write of rows that are left out if they were stored under the key before.
	// The zero key is none.
	WriteKeyed(ctx context.Context, out *pipeline.Output, key write.Key) (write.Result, error)
}

// Config says what a Service works with, and its limits.
type Config struct {
	Meta   Meta
	Shards Shards
	Writer Writer

	// Timeout bounds a request that does not name another. The default value is 30 s.
	Timeout time.Duration
	// MaxTimeout is the longest that a request may name. The default value is 1 hour.
	MaxTimeout time.Duration
	// Running bounds the SELECTs that run at a time. The default value is 16.
	Running int
	// RunningPerUser bounds those of one user, or, without authentication, of one client's
	// address. The default value is three quarters of Running.
	RunningPerUser int
	// Waiting bounds those that wait for their turn. The default value is 64.
	Waiting int
	// WaitingPerUser bounds those of one user. The default value is half of Waiting.
	WaitingPerUser int
	// MaxWait bounds how long one waits. The default value is 10 s.
	MaxWait time.Duration
	// MaxColumns bounds the columns of a table. The default value is 4096.
	MaxColumns int
	// Writable returns why rows are refused, for want of room on a disk. The default
	// value refuses none.
	Writable func() error
	// Now is the clock. The default value is time.Now.
	Now func() time.Time

	// Logger takes what an operator should know. The default value discards it.
	Logger *slog.Logger
	// Registerer takes the metrics. The default value is none.
	Registerer prometheus.Registerer
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	c.MaxTimeout = cmp.Or(c.MaxTimeout, time.Hour)
	c.Running = cmp.Or(c.Running, 16)
	c.Waiting = cmp.Or(c.Waiting, 64)
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.MaxColumns = cmp.Or(c.MaxColumns, 4096)
	if c.Writable == nil {
		c.Writable = func() error { return nil }
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate reports all faults of c at once.
func (c Config) Validate() error {
	var faults []error
	if c.Meta == nil || c.Shards == nil || c.Writer == nil {
		faults = append(faults, errors.New("query: Config.Meta, Config.Shards and Config.Writer must be set"))
	}
	if c.Timeout < 0 || c.MaxTimeout < 0 || c.MaxWait < 0 || c.Running < 0 || c.RunningPerUser < 0 || c.Waiting < 0 || c.WaitingPerUser < 0 || c.MaxColumns < 0 {
		faults = append(faults, errors.New("query: limits must not be negative"))
	}
	return errors.Join(faults...)
}

// Service runs SQL. See the package comment.
type Service struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	gate    *turns.Gate
	changes *audit.Log
}

// New returns a Service. Meta, Shards and Writer must be set.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	s := &Service{cfg: cfg, log: cfg.Logger, gate: newGate(cfg), changes: audit.New(cfg.Logger)}
	var err error
	if s.metrics, err = newMetrics(cfg.Registerer, s.gate); err != nil {
		return nil, err
	}
	return s, nil
}

func newGate(cfg Config) *turns.Gate {
	return turns.New(turns.Config{
		Running: cfg.Running, PerUser: cfg.RunningPerUser, Waiting: cfg.Waiting, WaitingPerUser: cfg.WaitingPerUser, MaxWait: cfg.MaxWait,
	})
}

// Request is a text of one or more statements to run one after another.
type Request struct {
	// Statements come from statement.Parse.
	Statements []statement.Statement
	// Texts are what statement.Texts makes of the same text, for the log of changes. Without
	// them its lines lack the statements.
	Texts []string
	// Database is that of names without one; empty: public.
	Database string
	// Limit is the most rows of each statement, if Limited is set.
	Limit   uint64
	Limited bool
	// AllowPartial leaves out what cannot be read instead of failing; Result.Partial
	// lists it.
	AllowPartial bool
	// MaxStaleness, if not 0, lets any replica answer whose rows are no older than that, and
	// does not wait for what other routers changed of tables.
	MaxStaleness time.Duration
	// Timezone is the zone of times that name none, up to a SET TIME ZONE among the statements; empty: UTC.
	Timezone string
	// Timeout bounds all statements together, with what the client takes to read the
	// answer; 0: Config.Timeout.
	Timeout time.Duration

	// Key is what the client calls the request by, so that the rows of each INSERT are stored
	// once however often it is sent; Execute adds the user. The zero Key is none.
	Key write.Key

	// statement is the index of the statement that runs.
	statement int
	// behind is why the statement that runs may not see what other nodes changed of tables.
	behind error
}

// Result is what one statement brought about.
type Result struct {
	// Rows is nil unless the statement answers with rows. It is valid until the
	// function that it was given to returns.
	Rows format.Rows
	// Partial lists what is missing from Rows, if Request.AllowPartial was set, and what
	// system tables do not know because a node does not answer.
	Partial []string
	// AffectedRows counts what INSERT stored.
	AffectedRows int64
	// Warnings are what the client should know although all went well.
	Warnings []string
}

// Execute runs the statements in order, for the caller of ctx (package access), and hands each result to each. It stops at the
// first error, its own or that of each; what statements before it changed stays changed.
//
// After an error of reason OutcomeUnknown rows may have been stored, by the statement that
// failed or by those before it: only a request with a key may be sent again.
//
// The error is an *errs.Error with a code of query.md; QueryTimeout if time was up.
func (s *Service) Execute(ctx context.Context, req Request, each func(context.Context, Result) error) error {
	timeout := req.Timeout
	if timeout == 0 {
		timeout = s.cfg.Timeout
	}
	if timeout < 0 || timeout > s.cfg.MaxTimeout {
		return errs.New(errs.InvalidArguments, "a timeout of %s is not possible: at most %s", timeout, s.cfg.MaxTimeout)
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if req.Database == "" {
		req.Database = schema.DefaultDatabase
	}
	if len(req.Statements) == 0 {
		return s.findDatabase(req.Database, mayReadNames(access.From(ctx)))
	}
	// Nothing is done of a text that does what its sender may not.
	caller := access.From(ctx)
	if req.Key != (write.Key{}) {
		req.Key.User = caller.User
	}
	stored := false
	for i, st := range req.Statements {
		if err := permit(caller, st, req.Database); err != nil {
			s.record(ctx, &req, i, err)
			return err
		}
	}
	for i, st := range req.Statements {
		begin := time.Now()
		req.behind = nil
		// A right may be lost while the statements before this one run.
		err := permit(caller, st, req.Database)
		if err != nil {
			s.record(ctx, &req, i, err)
			return err
		}
		req.statement = i
		if _, rows := st.(*statement.Query); req.MaxStaleness == 0 || !rows {
			req.behind, err = s.fresh(ctx, st)
		}
		if err == nil && i == 0 {
			err = s.findDatabase(req.Database, mayReadNames(caller))
		}
		if err == nil {
			err = s.run(ctx, st, &req, each)
		}
		err = unsure(err, req.behind)
		err = s.explain(ctx, st, err, begin.Sub(start)+time.Since(begin))
		if stored {
			err = storedBefore(err)
		}
		s.record(ctx, &req, i, err)
		s.metrics.observe(st, err, time.Since(begin))
		if err != nil {
			return err
		}
		switch st.(type) {
		case *statement.Insert, *statement.Delete:
			stored = true
		}
	}
	return nil
}

// storedBefore changes an error after which clients send a request again, if statements
// before the one that failed have stored rows: they would store them again.
func storedBefore(err error) error {
	if err == nil || errs.ReasonOf(err) == errs.OutcomeUnknown {
		return err
	}
	switch errs.From(err).Status() {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		return errs.Wrap(errs.ShardUnreachable, err, "the outcome is unknown: statements before this one stored rows, then").WithReason(errs.OutcomeUnknown)
	}
	return err
}

// permit returns an error if the caller may not run the statement.
func permit(caller *access.Caller, st statement.Statement, database string) error {
	need, _ := access.OfStatement(st, database)
	return caller.Require(need)
}

// record writes down what became of a statement, if it changes something.
func (s *Service) record(ctx context.Context, req *Request, i int, err error) {
	need, changes := access.OfStatement(req.Statements[i], req.Database)
	if !changes {
		return
	}
	text := ""
	if i < len(req.Texts) {
		text = req.Texts[i]
	}
	s.changes.Record(ctx, audit.Change{By: access.From(ctx), Need: need, Statement: text, Err: err})
}

// freshTimeout bounds how long a statement waits for the metadata of this node to hold what
// other nodes acknowledged. One that changes the metadata waits as long as that change would.
const freshTimeout = time.Second

// fresh waits for what was acknowledged through other routers before the statement came:
// tables and columns that it names, and shards that a table's newest rows lie on. When that
// cannot be had, because nobody leads the metadata group or this node does not reach it,
// statements about the metadata are refused, also those that might have nothing to do, such
// as DROP TABLE IF EXISTS. Those about rows go on with what this node knows: behind is why it
// may be too little, which shards then look at.
func (s *Service) fresh(ctx context.Context, st statement.Statement) (behind, err error) {
	wait := ctx
	if aboutRows(st) || st.Rows() {
		var cancel context.CancelFunc
		wait, cancel = context.WithTimeout(ctx, freshTimeout)
		defer cancel()
	}
	behind = s.cfg.Meta.Fresh(wait)
	if _, set := st.(*statement.SetTimeZone); set || behind == nil || aboutRows(st) {
		return behind, nil
	}
	return behind, unread(behind, "what other nodes changed cannot be read now")
}

// aboutRows tells whether a statement reads or writes rows of tables.
func aboutRows(st statement.Statement) bool {
	switch st.(type) {
	case *statement.Query, *statement.Insert, *statement.Delete:
		return true
	}
	return false
}

// unread is the error of a statement that needs metadata which this node cannot have now.
func unread(behind error, what string) error {
	e := errs.Wrap(errs.ShardNotReady, behind, "%s", what).WithRetryAfter(time.Second)
	e.Code, e.Leader, e.Reason = errs.ShardNotReady, "", "" // nothing was changed
	return e
}

// unsure changes an error that says that something does not exist: a node that cannot read
// the metadata does not know that.
func unsure(err, behind error) error {
	if behind == nil || err == nil {
		return err
	}
	switch e := errs.From(err); e.Code {
	case errs.TableNotFound, errs.ColumnNotFound, errs.DatabaseNotFound:
		return unread(behind, "this node knows of it only what was so before ("+e.Msg+"), and what other nodes changed cannot be read now")
	}
	return err
}

// explain makes an error that came about because time was up, or the client went away, say so.
func (s *Service) explain(ctx context.Context, st statement.Statement, err error, after time.Duration) error {
	switch {
	case err == nil:
		return nil
	case !st.Rows() && errs.ReasonOf(err) == errs.OutcomeUnknown && errs.From(err).Status() == http.StatusServiceUnavailable:
		return err // rows may have been written: that must be said, whatever else is so
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || timeIsUp(ctx, err):
		advice := "ask for less, or allow more by the header x-svc-timeout"
		switch e := errs.From(err); e.Code {
		case errs.ShardUnreachable, errs.ShardNotReady:
			advice = "it waited for a shard: " + e.Msg
		}
		return &errs.Error{Code: errs.QueryTimeout, Err: err, Msg: fmt.Sprintf(
			"the query was cancelled after %s, when its time was up; %s", after.Round(time.Millisecond), advice)}
	case lostRight(ctx) != nil:
		return lostRight(ctx)
	case ctx.Err() != nil:
		return &errs.Error{Code: errs.Cancelled, Err: err, Msg: "the query was cancelled because the client went away"}
	}
	if e := (*errs.Error)(nil); errors.As(err, &e) {
		return err
	}
	return errs.Wrap(errs.Internal, err, "run SQL")
}

// lostRight is why ctx was cancelled, if that was because the user may no longer do what is
// done in it.
func lostRight(ctx context.Context) error {
	switch cause := context.Cause(ctx); errs.CodeOf(cause) {
	case errs.AccessDenied, errs.UserPasswordMismatch:
		return cause
	}
	return nil
}

// timeIsUp tells whether err comes from another process to which the deadline went
// along, and whose clock rang a little earlier.
func timeIsUp(ctx context.Context, err error) bool {
	switch errs.CodeOf(err) {
	case errs.QueryTimeout:
		return true
	case errs.DeadlineExceeded, errs.Cancelled:
		deadline, ok := ctx.Deadline()
		return ok && ctx.Err() == nil && time.Until(deadline) < 100*time.Millisecond
	}
	return false
}

// run executes one statement.
func (s *Service) run(ctx context.Context, st statement.Statement, req *Request, each func(context.Context, Result) error) error {
	if set, ok := st.(*statement.SetTimeZone); ok {
		if _, err := zone.Load(set.Zone); err != nil {
			return err
		}
		req.Timezone = set.Zone
		return each(ctx, Result{})
	}
	if q, ok := st.(*statement.Query); ok {
		return s.query(ctx, q, req, each)
	}
	if st.Rows() {
		rows, err := s.show(st, req.Database)
		if err != nil {
			return err
		}
		defer rows.Release()
		if req.Limited {
			return each(ctx, Result{Rows: &limited{Rows: rows, left: req.Limit}})
		}
		return each(ctx, Result{Rows: rows})
	}
	told := s.warnings(st, req.Database)
	res, err := s.change(ctx, st, req)
	if err != nil {
		return err
	}
	res.Warnings = append(res.Warnings, told...)
	return each(ctx, res)
}
