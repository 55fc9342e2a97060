// Package sqlhttp is the handler of /v1/sql, and of the structured queries at /v1/logs, which become SQL. It parses
// a request, calls router/query, and writes the rows in the requested format.
//
// It does not authenticate, route or format errors. router/httpapi does this, and provides functions in Config.
// Format svcdb_v1 is sent when it is complete, so an error in the last row still becomes an error with its status.
// The other formats stream. An error after their first byte aborts the connection, which every client sees as an
// incomplete answer: no last chunk, no Arrow end mark, no Parquet footer.
//
// A Handler has no goroutines of its own and nothing to close. It may be used concurrently.
package sqlhttp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/words"
	"cordwood/router/body"
	"cordwood/router/query"
	"cordwood/router/query/format"
	"cordwood/router/query/statement"
)

// Executor runs statements; *query.Service does.
type Executor interface {
	Table(ctx context.Context, database, name string) (*schema.Table, error)
	Execute(ctx context.Context, req query.Request, each func(context.Context, query.Result) error) error
}

// Config has the settings of a Handler.
type Config struct {
	// Service runs the statements. Required.
	Service Executor
	// WriteError answers a request with an error. Required.
	WriteError func(w http.ResponseWriter, r *http.Request, err error)
	// Named replaces ids of nodes in a text for the answer to r by their names. By default nothing is replaced.
	Named func(r *http.Request, text string) string
	// Start returns the time at which r arrived. By default it is the time at which the handler was called.
	Start func(r *http.Request) time.Time
	// Bodies reads and decompresses bodies, within its limits. The default value
	// allows MaxTextBytes each.
	Bodies *body.Reader

	// Timeout limits the time in which a body must arrive, if the request sets no time limit. The default value is 30
	// s.
	Timeout time.Duration
	// MaxTextBytes limits the size of a text of SQL. The default value is 16 MiB.
	MaxTextBytes int64
	// MaxResultBytes limits the size of an answer in format svcdb_v1, which is held in memory until it is complete.
	// The default value is 256 MiB.
	MaxResultBytes int64
	// MaxResultTotal limits the size of all such answers together. The default value is 512 MiB.
	MaxResultTotal int64

	// Logger logs answers that were aborted. By default nothing is logged.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	if c.Service == nil || c.WriteError == nil {
		return c, errors.New("sqlhttp: Config.Service and Config.WriteError must be set")
	}
	if c.Start == nil {
		c.Start = func(*http.Request) time.Time { return time.Now() }
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.MaxTextBytes == 0 {
		c.MaxTextBytes = 16 << 20
	}
	if c.MaxResultBytes == 0 {
		c.MaxResultBytes = 256 << 20
	}
	if c.MaxResultTotal == 0 {
		c.MaxResultTotal = 512 << 20
	}
	if c.Bodies == nil {
		var err error
		if c.Bodies, err = body.New(body.Config{MaxBytes: c.MaxTextBytes}); err != nil {
			return c, err
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Handler answers /v1/sql. See the package comment.
type Handler struct {
	cfg    Config
	budget *format.Budget
}

// New returns a Handler. Service and WriteError must be set.
func New(cfg Config) (*Handler, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Handler{cfg: cfg, budget: format.NewBudget(cfg.MaxResultBytes, cfg.MaxResultTotal)}, nil
}

// ServeHTTP implements http.Handler: it answers SQL.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.answer(w, r, false) }

// ServeLogs answers a structured query (package logquery).
func (h *Handler) ServeLogs(w http.ResponseWriter, r *http.Request) { h.answer(w, r, true) }

func (h *Handler) answer(w http.ResponseWriter, r *http.Request, structured bool) {
	a := &answer{h: h, w: w, rc: http.NewResponseController(w), start: h.cfg.Start(r), structured: structured}
	err := h.serve(a, r)
	switch {
	case err == nil:
	case !a.started:
		h.cfg.WriteError(w, r, err)
	default:
		h.cfg.Logger.WarnContext(r.Context(), "SQL answer broken off", "format", a.format.String(), "error", err)
		panic(http.ErrAbortHandler)
	}
}

func (h *Handler) serve(a *answer, r *http.Request) error {
	in, err := h.read(a, r)
	if err != nil {
		return err
	}
	a.format, a.filename = in.format, in.filename
	if err := onlyReads(r, in.query.Statements); err != nil {
		a.w.Header().Set("Allow", http.MethodPost)
		return err
	}
	if err := h.check(r, in); err != nil {
		return err
	}
	if in.format == format.SvcdbV1 {
		return h.collect(a, r, in)
	}
	return h.stream(a, r, in)
}

// onlyReads refuses statements that change something in a request by GET or HEAD, whatever client
// sends it: links, caches, crawlers and pages of other sites make such requests.
func onlyReads(r *http.Request, statements []statement.Statement) error {
	if r.Method == http.MethodPost {
		return nil
	}
	for i, st := range statements {
		if _, set := st.(*statement.SetTimeZone); !set && !statement.OnlyReads(st) {
			return errs.New(errs.Unsupported, "statement %d changes something, and %s requests may only read: send it by POST",
				i+1, r.Method).WithStatus(http.StatusMethodNotAllowed)
		}
	}
	return nil
}

// check refuses statements whose result the format cannot express, before anything runs.
func (h *Handler) check(r *http.Request, in *input) error {
	reading := 0
	for _, st := range in.query.Statements {
		if st.Rows() {
			reading++
		}
	}
	if reading > 1 && in.format != format.SvcdbV1 {
		return errs.New(errs.InvalidArguments,
			"format %s can contain the rows of one statement, but %d statements of the text return rows; "+
				"send them one at a time, or use format svcdb_v1", in.format, reading)
	}
	return nil
}

// collect answers in svcdb_v1: one element of output for each statement.
func (h *Handler) collect(a *answer, r *http.Request, in *input) error {
	buf := format.NewBuffer(h.budget)
	defer buf.Release()
	if err := buf.Append([]byte(`{"output":[`)); err != nil {
		return err
	}
	n := 0
	var partial []words.Missing
	err := h.cfg.Service.Execute(r.Context(), in.query, func(_ context.Context, res query.Result) error {
		if n++; n > 1 {
			if err := buf.Append([]byte{','}); err != nil {
				return err
			}
		}
		setWarningHeaders(a.w, h.named(r, res.Warnings))
		if res.Rows == nil {
			return buf.Append(append(strconv.AppendInt([]byte(`{"affectedrows":`), res.AffectedRows, 10), '}'))
		}
		partial = append(partial, h.namedIn(r, res.Partial)...)
		appendRecords := format.AppendRecords
		if in.safe {
			appendRecords = format.AppendSafeRecords
		}
		_, err := appendRecords(buf, res.Rows)
		return err
	})
	if err != nil {
		return err
	}
	if err := buf.Append([]byte{']'}); err != nil {
		return err
	}
	if err := appendPartial(a.w, buf, partial); err != nil {
		return err
	}
	end := strconv.AppendInt([]byte(`,"execution_time_ms":`), time.Since(a.start).Milliseconds(), 10)
	if err := buf.Append(append(end, "}\n"...)); err != nil {
		return err
	}
	a.w.Header().Set("Content-Length", strconv.FormatInt(buf.Len(), 10))
	defer a.deadline(time.Time{})
	_, err = buf.WriteTo(a)
	return err
}

// stream answers in a streaming format. If no statement returns rows, the answer has one row with the number of
// affected rows.
func (h *Handler) stream(a *answer, r *http.Request, in *input) error {
	var affected int64
	rows := false
	defer a.deadline(time.Time{})
	err := h.cfg.Service.Execute(r.Context(), in.query, func(ctx context.Context, res query.Result) error {
		affected += res.AffectedRows
		setWarningHeaders(a.w, h.named(r, res.Warnings))
		if res.Rows == nil {
			return nil
		}
		rows = true
		setPartialHeader(a.w, h.namedIn(r, res.Partial))
		a.until, _ = ctx.Deadline()
		_, err := format.WriteWith(a, in.format, res.Rows, format.Options{
			Safe: in.safe, OmitNulls: in.omitNulls, NoFormulas: in.noFormulas,
		})
		return err
	})
	if err == nil && !rows {
		_, err = format.Write(a, in.format, affectedRows(affected))
	}
	if err == nil {
		a.begin() // for an answer without a byte
	}
	return err
}
