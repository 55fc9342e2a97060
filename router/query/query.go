// Package query runs SQL for clients. It classifies statements, answers statements that define and describe
// databases and tables from the metadata, sends small inserts through the write path, and lets the engine of a
// shard node run statements that read rows.
//
// It does not parse SELECT, nor evaluate anything: package statement knows our own
// statements, the engine its own. What it adds to a SELECT is the list of tables that
// the statement may see: the rows of a shard with the moment before which they have
// expired, or, for a system table, rows made on the spot.
//
// A Service is created once, starts no goroutines and has nothing to close. Execute may be called concurrently. The
// number of concurrent SELECTs is limited. A few more wait, and others are refused.
package query

import (
	"context"
	"time"

	"cordwood/meta/metaclient"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/turns"
	"cordwood/proto/words"
	"cordwood/router/access"
	"cordwood/router/audit"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
	"cordwood/router/write"
)

// Service runs SQL. See the package comment.
type Service struct {
	cfg     Config
	metrics *metrics
	changes *audit.Log

	names   names
	definer definer
	reader  *reader
}

// New returns a Service. Meta, Shards and Writer must be set.
func New(cfg Config) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	n := names{meta: cfg.Meta, now: cfg.Now}
	s := &Service{
		cfg: cfg, changes: cfg.Changes, names: n, definer: definer{n, cfg.MaxColumns},
		reader: &reader{
			names: n, shards: cfg.Shards, gate: newGate(cfg), quotas: cfg.Quotas, clients: newClients(cfg),
			changes: cfg.Changes, definitions: newDefinitions(cfg.ClusterVersion),
		},
	}
	var err error
	if s.metrics, err = newMetrics(cfg.Registerer, s.reader.gate); err != nil {
		return nil, err
	}
	return s, nil
}

func newClients(cfg Config) clients {
	c := clients{users: cfg.Users, sessions: cfg.Sessions}
	if cfg.Accounts != nil {
		c.principals = cfg.Accounts.Principals
	}
	return c
}

func newGate(cfg Config) *turns.Gate {
	c := turns.Config{
		Running: cfg.Running, PerUser: cfg.RunningPerUser, Waiting: cfg.Waiting, WaitingPerUser: cfg.WaitingPerUser,
		MaxWait: cfg.MaxWait,
	}
	if cfg.Quotas != nil {
		c.Limit, c.Over = cfg.Quotas.QueryLimit, cfg.Quotas.OverQueries
	}
	return turns.New(c)
}

// Running calls each for each database with queries, with the numbers of those that run and those that wait.
func (s *Service) Running(each func(database string, running, waiting int)) {
	s.reader.gate.Databases(each)
}

// Request is a text of one or more statements to run one after another.
type Request struct {
	// Statements come from statement.Parse.
	Statements []statement.Statement
	// Texts is the result of statement.Texts for the same text, for the log of changes. Without it, the log lines have
	// no statements.
	Texts []string
	// Database is the database of names without one; empty means public.
	Database string
	// Catalog is what system tables call the one catalog; empty means svc.
	Catalog string
	// Protocol is the protocol of the client, for the metrics; empty means http.
	Protocol string
	// Limit is the most rows of each statement, if Limited is set.
	Limit   uint64
	Limited bool
	// AllowPartial leaves out what cannot be read instead of failing. Result.Partial lists it.
	AllowPartial bool
	// MaxStaleness, if not 0, allows any replica to answer whose rows are at most that old, and does not wait for
	// other routers' changes of tables.
	MaxStaleness time.Duration
	// Timezone is the zone of times without a zone, until a SET TIME ZONE among the statements; empty means UTC.
	Timezone string
	// QueryID is the id of a query, from NewID; empty: Execute makes one.
	QueryID string
	// Timeout bounds all statements together, including the time in which the client reads the answer; 0:
	// Config.Timeout.
	Timeout time.Duration

	// Key is the client's key for the request, so that the rows of each INSERT are stored once, however often the
	// request is sent. Execute adds the user. The zero Key means that there is no key.
	Key write.Key

	// conditions are those of a change of users, roles, grants or tokens.
	conditions []*metapb.AccessCondition
	// statement is the index of the statement that runs.
	statement int
	// partly is the number of rows that the current statement has stored although it has not ended.
	partly int64
	// readRecorded is set if the current statement's reading is recorded.
	readRecorded bool
	// behind is the reason why the current statement may not see other nodes' changes of tables.
	behind error
}

// Result is the result of one statement.
type Result struct {
	// Rows is nil if the statement returns no rows. It is valid until the function that receives it returns.
	Rows format.Rows
	// Partial lists what is missing from Rows if Request.AllowPartial was set, and what system tables lack because a
	// node does not answer.
	Partial []words.Missing
	// AffectedRows is the number of rows that INSERT stored.
	AffectedRows int64
	// Warnings are for the client, although the statement succeeded.
	Warnings []string
}

// Table returns a table that the caller in ctx may read, after all changes that other nodes have acknowledged, as
// far as this node can read them. If the table or database does not exist, or the caller may not read it, it returns
// the same error as a statement.
func (s *Service) Table(ctx context.Context, database, name string) (*schema.Table, error) {
	if _, err := s.names.fresh(ctx, oldIsFine); err != nil {
		return nil, err
	}
	return s.names.of(ctx).readable(database, name)
}

// Target returns a table like Table, if the caller in ctx may insert rows into it.
func (s *Service) Target(ctx context.Context, database, name string) (*schema.Table, error) {
	if _, err := s.names.fresh(ctx, oldIsFine); err != nil {
		return nil, err
	}
	if err := access.From(ctx).Require(access.Need{
		Privilege: access.Insert, Action: "insert",
		Object: access.Object{Kind: access.Table, Database: database, Name: name},
	}); err != nil {
		return nil, err
	}
	return s.names.of(ctx).table(database, name)
}

// HasDatabase reports whether a database exists for the caller in ctx.
func (s *Service) HasDatabase(ctx context.Context, name string) bool {
	return s.names.of(ctx).checkDatabase(name) == nil
}

// Execute runs the statements in order for the caller in ctx (package access), and passes each result to each. It
// stops at the first error, its own or from each. The changes of earlier statements remain.
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
		req.Database = access.From(ctx).DefaultDatabase()
	}
	if len(req.Statements) == 0 {
		return s.names.of(ctx).checkDatabase(req.Database)
	}
	// If the caller lacks a right for any statement, none of them runs.
	caller := access.From(ctx)
	if req.Key != (write.Key{}) {
		req.Key.User = caller.User
	}
	stored := false
	for i, st := range req.Statements {
		err := permit(caller, st, req.Database)
		if c, _ := changeBy(ctx, &req, i); err == nil && c.Whole {
			err = audit.CheckWhole(c.Statement)
		}
		if err != nil {
			s.record(ctx, &req, i, err)
			return err
		}
	}
	for i, st := range req.Statements {
		// A right may be lost while the statements before this one run.
		if err := permit(caller, st, req.Database); err != nil {
			s.record(ctx, &req, i, err)
			return err
		}
		begin := time.Now()
		req.statement, req.readRecorded, req.partly = i, false, 0
		k, err := kindOf(st)
		run := s.begin(ctx, &req, i)
		if err == nil {
			err = s.run(run, k, st, &req, each)
		}
		err = explain(ctx, st, unsure(err, req.behind), time.Since(start))
		err = storedPartly(err, req.partly)
		if stored {
			err = storedBefore(err)
		}
		s.record(run, &req, i, err)
		s.metrics.observe(st, req.Protocol, err, time.Since(begin))
		if err != nil {
			return err
		}
		stored = stored || k.stores
	}
	return nil
}

// run carries out one statement.
func (s *Service) run(ctx context.Context, k kind, st statement.Statement, req *Request, each resultFunc) (err error) {
	req.behind = nil
	if _, query := st.(*statement.Query); req.MaxStaleness == 0 || !query {
		if req.behind, err = s.names.fresh(ctx, k.metadata); err != nil {
			return err
		}
	}
	if req.statement == 0 {
		if err := s.names.of(ctx).checkDatabase(req.Database); err != nil {
			return err
		}
	}
	return k.run(ctx, s, st, req, each)
}

// permit returns an error if the caller may not run the statement.
func permit(caller *access.Caller, st statement.Statement, database string) error {
	need, _ := NeedOf(st, database)
	if insert, ok := st.(*statement.Insert); ok && insert.Query != "" {
		if err := permit(caller, &statement.Query{Text: insert.Query}, database); err != nil {
			return err
		}
	}
	if err := caller.Require(need); err != nil {
		return err
	}
	if st, ok := st.(*statement.AlterDatabase); ok && endsReads(st) {
		return caller.Require(readsNeed(st.Database))
	}
	return nil
}

// changeBy describes a statement for audit. changes is false if it changes nothing.
func changeBy(ctx context.Context, req *Request, i int) (c audit.Change, changes bool) {
	need, changes := NeedOf(req.Statements[i], req.Database)
	c = audit.Change{By: access.From(ctx), Need: need}
	if i < len(req.Texts) {
		c.Statement = req.Texts[i]
	}
	c.Whole = changes && recordedWhole(req.Statements[i])
	return c, changes
}

// recordedWhole reports whether the audit record of a statement must have all of it, because what the statement changes
// is not only its object.
func recordedWhole(st statement.Statement) bool {
	switch st.(type) {
	case *statement.Delete, *statement.CreateTable: // their conditions and columns can be long
		return false
	}
	return true
}

// begin returns the context for a statement, whose commands carry the record of the change that the statement makes.
func (s *Service) begin(ctx context.Context, req *Request, i int) context.Context {
	c, changes := changeBy(ctx, req, i)
	if !changes {
		return ctx
	}
	return s.changes.Begin(ctx, func() audit.Change { return c })
}

// ifExists reports whether a statement may find nothing to drop.
func ifExists(st statement.Statement) bool {
	switch st := st.(type) {
	case *statement.DropTable:
		return st.IfExists
	case *statement.DropDatabase:
		return st.IfExists
	case *statement.DropPrincipal:
		return st.IfExists
	case *statement.DropToken:
		return st.IfExists
	}
	return false
}

// record records the result of a statement, if the statement changes something.
func (s *Service) record(ctx context.Context, req *Request, i int, err error) {
	if c, changes := changeBy(ctx, req, i); changes {
		c.Err = err
		c.Unchanged = err == nil && ifExists(req.Statements[i]) && !metaclient.AuditedOf(ctx).Proposed()
		s.changes.Record(ctx, c)
	}
}
