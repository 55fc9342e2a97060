package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"cordwood/proto/lru"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/direct"
	"cordwood/shard/query/engine/duck"
	"cordwood/shard/query/engine/plan"
	"cordwood/shard/query/engine/sql"
)

// Analyze checks that sql is one SELECT, or an EXPLAIN of one, that calls nothing forbidden, and
// returns the tables that it reads. database is used for table names without a database.
//
// It returns errs.InvalidSyntax with the position of the mistake, errs.Unsupported for a statement
// that is refused, and errs.PlanQuery for a function that does not exist. It does not check whether
// the tables and columns exist. The statement may have parameters ($1 and so on); such a statement
// can be described, but not run.
func (e *Engine) Analyze(ctx context.Context, sql, database string) (*query.Analysis, error) {
	d, req, err := newDescriber(&query.Request{SQL: sql})
	if err != nil {
		return nil, err
	}
	if len(d.types) > 0 {
		sql = req.SQL
	}
	st, err := e.parse(ctx, sql, database)
	if err != nil {
		return nil, err
	}
	return &query.Analysis{
		Tables: append([]query.TableName(nil), st.Names...), Explain: st.Explain != "",
		Runs: st.Explain == "" || query.Analyzes(st.Explain),
	}, nil
}

// study returns the checked statement of a request, and the request with texts of times converted
// to UTC.
func (e *Engine) study(ctx context.Context, req *query.Request) (*studied, *query.Request, error) {
	st, err := e.parse(ctx, req.SQL, req.Database)
	if err != nil {
		return nil, nil, err
	}
	zoned, edits, err := st.InZone(req)
	if err != nil {
		return nil, nil, err
	}
	if zoned == req {
		return st, req, nil
	}
	cached, err := e.parse(ctx, zoned.SQL, zoned.Database)
	if err != nil {
		return nil, nil, err
	}
	out := *cached // two different texts may become the same text in UTC
	out.Statement, out.asked = cached.MadeOf(st.Statement, edits), st.Statement
	return &out, zoned, nil
}

// studied is a checked statement, with the properties of its text that reductions and executors
// need.
type studied struct {
	*sql.Statement
	shape  *plan.Shape
	direct *direct.Shape
	count  *rowCount // nil if the statement asks for more than the number of rows
	// tree is the syntax tree of the SELECT.
	tree sql.Node
	// asked is the statement of the client if this is its copy with times converted to UTC.
	// Otherwise it is nil.
	asked *sql.Statement
	// divided is the statement as it runs for each segment; see run.divided.
	divided *atomic.Pointer[divided]
}

func newStudied(st *sql.Statement, root sql.Node) *studied {
	return &studied{
		Statement: st, shape: plan.Study(st, root), direct: direct.Find(st, root), count: findRowCount(st, root), tree: root,
		divided: &atomic.Pointer[divided]{},
	}
}

// bare returns the statement that EXPLAIN explains.
func (st *studied) bare() *studied {
	bare := *st.Statement
	bare.Explain = ""
	return &studied{Statement: &bare, shape: st.shape, direct: st.direct, tree: st.tree, asked: st.asked}
}

// cacheKey returns the key of a statement in the cache.
func cacheKey(text, database string) string { return database + "\x00" + text }

// parse returns the checked statement, from the cache if it was used recently.
func (e *Engine) parse(ctx context.Context, text, database string) (*studied, error) {
	key := cacheKey(text, database)
	if st := e.cache.get(key); st != nil {
		return st, nil
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	st, root, err := sql.Parse(text, database, in.SyntaxTree)
	e.release(in, sql.IsBroken(err))
	if err != nil {
		err = sql.ToClient(err, nil)
		duck.GiveBackAfter(err)
		return nil, err
	}
	out := newStudied(st, root)
	e.cache.put(key, out)
	return out, nil
}

// cache keeps recently used statements. It is safe for concurrent use.
type cache struct {
	mu   sync.Mutex // guards kept
	kept *lru.Cache[string, *studied]
}

const (
	// cachedUnits is the capacity of a cache of statements. A statement takes one unit, and one more for each cachedUnit
	// bytes of its text.
	cachedUnits = 512
	cachedUnit  = 1 << 10
	// maxCachedSQL is the maximum length of a cached statement.
	maxCachedSQL = 128 << 10
)

// unitsOf returns the number of units that a statement takes in a cache.
func unitsOf(key string) int64 { return 1 + int64(len(key))/cachedUnit }

func newCache() *cache { return &cache{kept: lru.New[string, *studied](cachedUnits)} }

func (c *cache) get(key string) *studied {
	c.mu.Lock()
	defer c.mu.Unlock()
	st, _ := c.kept.Get(key)
	return st
}

func (c *cache) put(key string, st *studied) {
	if len(key) > maxCachedSQL {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Put(key, st, unitsOf(key))
}

// Needs returns what a statement reads of the request's tables, for a caller that fetches rows from
// elsewhere: the columns, and a condition that all matching rows meet. It may return more than
// necessary. It ignores the segments and batches of the request.
func (e *Engine) Needs(ctx context.Context, req *query.Request) ([]query.Need, error) {
	st, req, err := e.study(ctx, req)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	first, err := plan.New(ctx, st.Statement, st.shape, req, now, e.settings)
	if err != nil {
		return nil, err
	}
	later, err := plan.New(ctx, st.Statement, st.shape, req, now.Add(plan.NeedsAhead), e.settings)
	if err != nil {
		return nil, err
	}
	in, err := e.acquire(ctx)
	if err != nil {
		return nil, err
	}
	r := &run{ctx: ctx, engine: e, in: in, st: st.bare(), request: withoutRows(req), now: now}
	whole, err := r.needsAll()
	e.release(in, sql.IsBroken(err))
	if err != nil {
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		return nil, sql.ToClient(err, r.text)
	}
	return plan.NeedsOf(first, later, now, whole), nil
}

// needsAll reports whether the statement has to read all columns: it binds it over tables with those that it seems to
// read. A column that is not fetched would be null in the answer.
func (r *run) needsAll() (bool, error) {
	defer r.close()
	if err := r.plan(); err != nil {
		return false, err
	}
	r.Truncs = nil
	if err := r.connect(); err != nil {
		return false, err
	}
	defer r.session.Watch(r.ctx)()
	_, err := r.columns()
	return r.whole, err
}
