package pgwire

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgconn"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/httpapi/auth"
	"cordwood/router/query"
	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// fakeService answers "SELECT n" with n rows of an integer and a text, and "SELECT wait" when it is canceled. It counts
// the rows that INSERT stores.
type fakeService struct {
	mu       sync.Mutex
	stored   [][]string
	requests []query.Request
	waiting  chan struct{} // gets a value when a statement waits
	open     atomic.Int64
	callers  []*access.Caller
	// inserted, if set, is called when the client's side has the result of an INSERT that has not returned yet.
	inserted func()
}

var rowsWanted = regexp.MustCompile(`(?i)^select (-?\d+)`)

func (s *fakeService) Execute(ctx context.Context, req query.Request,
	each func(context.Context, query.Result) error,
) error {
	s.open.Add(1)
	defer s.open.Add(-1)
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.callers = append(s.callers, access.From(ctx))
	s.mu.Unlock()
	if req.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, req.Timeout)
		defer cancel()
	}
	st := req.Statements[0]
	need, _ := query.NeedOf(st, req.Database)
	if err := access.From(ctx).Require(need); err != nil {
		return err
	}
	switch st := st.(type) {
	case *statement.Insert:
		s.mu.Lock()
		for at, row := range st.Values {
			texts := make([]string, len(row))
			for i, v := range row {
				if texts[i] = v.SQL(); v.Text == "refused" {
					s.mu.Unlock()
					return errs.New(errs.InvalidArguments, "row %d is refused", at+1)
				}
			}
			s.stored = append(s.stored, texts)
		}
		s.mu.Unlock()
		err := each(ctx, query.Result{AffectedRows: int64(len(st.Values)), Warnings: []string{"a warning"}})
		if s.inserted != nil {
			s.inserted()
		}
		return err
	case *statement.Query:
		return s.query(ctx, st.Text, each)
	}
	return each(ctx, query.Result{})
}

func (s *fakeService) query(ctx context.Context, text string, each func(context.Context, query.Result) error) error {
	switch {
	case strings.HasPrefix(text, "SELECT panic"):
		panic("a fault of the service")
	case strings.HasPrefix(text, "SELECT rows that wait"):
		return each(ctx, query.Result{Rows: &silent{counting{ctx: ctx}}})
	case strings.HasPrefix(text, "SELECT wait"):
		s.waiting <- struct{}{}
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return errs.New(errs.QueryTimeout, "the query was cancelled after a time")
		}
		return errs.New(errs.Cancelled, "the query was cancelled because the client went away")
	case strings.Contains(text, " late"): // found only when the statement runs
		return errs.New(errs.TableNotFound, "table public.late does not exist (position %d)", strings.Index(text, " late")+1)
	case strings.Contains(text, "nope"):
		return errs.New(errs.ColumnNotFound, "there is no column \"nope\"; the nearest is \"host\" (position %d)",
			strings.Index(text, "nope"))
	}
	n := 1
	if m := rowsWanted.FindStringSubmatch(text); m != nil {
		n, _ = strconv.Atoi(m[1])
	}
	return each(ctx, query.Result{Rows: &counting{ctx: ctx, left: n}})
}

func (s *fakeService) Describe(_ context.Context, sql string, _ query.Request,
	types []string,
) (*query.Description, error) {
	if at := strings.Index(sql, "nope"); at >= 0 {
		return nil, errs.New(errs.ColumnNotFound, "there is no column \"nope\" (position %d)", at)
	}
	d := &query.Description{
		Columns:    []query.AnswerColumn{{Name: "n", Type: "BIGINT"}, {Name: "t", Type: "VARCHAR"}},
		Parameters: append([]string(nil), types...),
	}
	for i, t := range d.Parameters {
		if t == "" {
			d.Parameters[i] = "BIGINT"
		}
	}
	return d, nil
}

func (s *fakeService) Target(ctx context.Context, database, name string) (*schema.Table, error) {
	if err := access.From(ctx).Require(access.Need{Privilege: access.Insert}); err != nil {
		return nil, err
	}
	if name != "logs" {
		return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist", database, name)
	}
	t := &schema.Table{Database: database, Name: name, Columns: []schema.Column{
		{Name: "ts", Type: schema.TimestampNanosecond, Semantic: schema.Timestamp},
		{Name: "host", Type: schema.String},
		{Name: "n", Type: schema.Int64},
		{Name: "b", Type: schema.Binary},
	}}
	return t.Index(), nil
}

func (s *fakeService) Catalog(_ context.Context, catalog, user string) *pgcatalog.Source {
	return &pgcatalog.Source{
		Catalog: catalog, User: user, Databases: []string{"public", "shop"},
		Tables:  func(string) []*schema.Table { return nil },
		Seen:    func(string) []*schema.Table { return nil },
		Holders: func() []pgcatalog.Holder { return nil },
	}
}

func (s *fakeService) last() query.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

func (s *fakeService) rows() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored
}

// counting produces rows in batches of 1000, without end if left is negative.
type counting struct {
	ctx  context.Context
	left int
	at   int64
	rec  arrow.RecordBatch
}

var countingSchema = arrow.NewSchema([]arrow.Field{
	{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "t", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func (r *counting) Schema() *arrow.Schema          { return countingSchema }
func (r *counting) RecordBatch() arrow.RecordBatch { return r.rec }
func (r *counting) Err() error                     { return r.ctx.Err() }
func (r *counting) Next() bool {
	n := 1000
	if r.left >= 0 {
		n = min(n, r.left)
		r.left -= n
	}
	if n == 0 || r.ctx.Err() != nil {
		return false
	}
	numbers, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for range n {
		r.at++
		numbers.Append(r.at)
		if r.at%10 == 0 {
			texts.AppendNull()
		} else {
			texts.Append(fmt.Sprintf("row %d", r.at))
		}
	}
	r.rec = array.NewRecordBatch(countingSchema, []arrow.Array{numbers.NewArray(), texts.NewArray()}, int64(n))
	return true
}

// silent produces no rows and does not end.
type silent struct{ counting }

func (r *silent) Next() bool {
	<-r.ctx.Done()
	return false
}

// fixture is a server under test.
type fixture struct {
	*Server
	service *fakeService
	addr    string
	users   *auth.Provider
}

// start starts a server, and stops it when the test ends.
func start(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	f := &fixture{service: &fakeService{waiting: make(chan struct{}, 100)}}
	cfg := Config{
		Service:     f.service,
		HasDatabase: func(_ access.Sender, name string) bool { return name == "public" || name == "shop" },
		Version:     "1.2.3", Node: "node-1",
	}
	for _, c := range change {
		c(&cfg)
	}
	if p, ok := cfg.Users.(*auth.Provider); ok {
		f.users = p
	}
	var err error
	if f.Server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr().String()
	done := make(chan error, 1)
	go func() { done <- f.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := f.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		if n := f.service.open.Load(); n != 0 {
			t.Errorf("%d statements are still open", n)
		}
		if f.cursors.count() != 0 || f.count() != 0 {
			t.Errorf("%d cursors and %d connections are still there", f.cursors.count(), f.count())
		}
	})
	return f
}

func (q *cursors) count() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// withUsers sets a list of users.
func withUsers(t testing.TB, list string) func(*Config) {
	t.Helper()
	p, err := auth.Open(auth.Config{Option: "static_user_provider:cmd:" + list, Scram: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Users = p }
}

// connect signs in.
func (f *fixture) connect(t testing.TB, options string) *pgconn.PgConn {
	t.Helper()
	c, err := f.dial(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

func (f *fixture) dial(options string) (*pgconn.PgConn, error) {
	if !strings.Contains(options, "user=") {
		options += " user=ann"
	}
	if !strings.Contains(options, "sslmode=") {
		options += " sslmode=disable"
	}
	host, port, _ := net.SplitHostPort(f.addr)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%s %s", host, port, options))
}

// state returns the SQLSTATE of an error.
func state(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// exec runs statements, and returns the rows and the tag of the last one.
func exec(t testing.TB, c *pgconn.PgConn, sql string) (rows [][]string, tag string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	results, err := c.Exec(ctx, sql).ReadAll()
	if len(results) == 0 {
		return nil, "", err
	}
	last := results[len(results)-1]
	for _, r := range last.Rows {
		row := make([]string, len(r))
		for i, v := range r {
			if row[i] = string(v); v == nil {
				row[i] = "NULL"
			}
		}
		rows = append(rows, row)
	}
	return rows, last.CommandTag.String(), err
}

// certificate returns a certificate for localhost.
func certificate(t testing.TB) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
