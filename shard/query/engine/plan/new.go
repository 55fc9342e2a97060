package plan

import (
	"context"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/shard/query"
	"cordwood/shard/query/engine/sql"
)

// Study returns the shape of a statement, whose tree is root.
func Study(st *sql.Statement, root sql.Node) *Shape {
	return &Shape{
		Newest: findNewest(st, root), unordered: unordered(st, root), times: findTimes(root),
		truncs: truncs(st, root),
	}
}

// Planned is a statement with the plans of its table references.
type Planned struct {
	Plans    []*Plan // one for each of statement.tables
	Views    []*View
	Searches []sql.Search
	Truncs   []truncCall
}

// New returns the plans of the statement's references.
// ctx has the query's Fetcher.
func New(
	ctx context.Context, st *sql.Statement, shape *Shape, req *query.Request, now time.Time, settings *Settings,
) (*Planned, error) {
	cold := newCold(ctx, st)
	views := make(map[query.TableName]*View, len(st.Names))
	var list []*View
	for _, name := range st.Names {
		t := findTable(req, name)
		if t == nil {
			return nil, errs.New(errs.TableNotFound, "table %s does not exist", name)
		}
		v, err := newTableView(t)
		if err != nil {
			return nil, err
		}
		views[name] = v
		list = append(list, v)
	}
	plans := make([]*Plan, len(st.Tables))
	for i := range st.Tables {
		plans[i] = &Plan{
			Settings: settings, Cold: cold, St: st, shape: shape, Ref: &st.Tables[i], View: views[st.Tables[i].Name],
		}
	}
	searches := make([]sql.Search, len(st.Searches))
	for i, call := range st.Searches {
		searches[i] = sql.Search{SearchCall: call, Analyzer: analyzerIn(call, plans)}
	}
	for _, p := range plans {
		p.predicates(searches, now)
		p.reads, p.timesOnly = p.readers(now)
	}
	out := &Planned{Plans: plans, Views: list, Searches: searches}
	if !settings.Off["trunc"] {
		out.Truncs = truncsOf(st, shape.truncs, plans)
	}
	return out, nil
}

// findTable returns the table with this name. If none has the exact name, it returns a table whose
// name differs only in case.
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
