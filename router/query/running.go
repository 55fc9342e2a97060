package query

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/access/token"
	"cordwood/router/query/statement"
)

// NewID returns an id with which a query is listed and ended on all nodes.
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// others is the right to see and end the queries of other users.
var others = access.Row{Privilege: access.Operate, Action: "see and end the queries of others"}

// queriesOf returns the share whose queries a caller may see and end; empty means all queries.
func queriesOf(ctx context.Context) (share string, err error) {
	caller := access.From(ctx)
	refused := caller.Require(others.Need(access.Object{}))
	if refused == nil {
		return "", nil
	}
	if share = caller.KnownShare(); share == "" {
		return "", refused // if the caller is not known, no query is their own
	}
	return share, nil
}

// queriesTable is svc_private.queries: the queries that run, and the parts that nodes run for queries of other nodes.
var queriesTable = &systemTable{
	id: 9, database: schema.PrivateDatabase, name: "queries", needs: access.Query,
	columns: []schema.Column{
		text("query_id"), text("node_id"), text("node"), text("role"), text("requested_by"), moment("started_at"),
		text("phase"),
		number("parts"), number("parts_done"), number("bytes"), text("query"),
	},
	rows: func(f *facts, w *rowWriter) error {
		share, err := queriesOf(f.ctx)
		if err != nil {
			return err
		}
		all, err := f.shards.Queries(f.ctx)
		if err != nil {
			if f.ctx.Err() != nil {
				return err
			}
			f.warnings = append(f.warnings, errs.From(err).Msg)
		}
		names := f.nodeNames()
		for _, q := range all {
			if share != "" && q.Share != share {
				continue
			}
			role, parts, done := "main", any(nil), any(nil)
			if q.Part {
				role = "part"
			}
			if q.Parts > 0 {
				parts, done = q.Parts, q.PartsDone
			}
			w.add(q.QueryId, orNull(q.NodeId), orNull(names[q.NodeId]), role, orNull(q.Share), q.StartedUnixNano, q.Phase,
				parts, done, q.Bytes, token.Hide(q.Sql))
		}
		return nil
	},
}

// nodeNames returns the names of nodes by their ids. In tables, node_id is the id of a node, and node its name.
func (f *facts) nodeNames() map[string]string {
	names := map[string]string{}
	for _, n := range f.meta().Nodes() {
		names[n.Id] = n.Name
	}
	return names
}

// kill ends a query on all nodes.
func (s *Service) kill(ctx context.Context, st *statement.Kill, _ *Request) (Result, error) {
	share, err := queriesOf(ctx)
	if err != nil {
		return Result{}, err
	}
	caller := access.From(ctx)
	killed, err := s.cfg.Shards.KillQuery(ctx, &shardpb.KillQueryRequest{QueryId: st.ID, Share: share, By: caller.Share()})
	switch {
	case err != nil && killed == 0:
		return Result{}, errs.Wrap(errs.ShardUnreachable, err,
			"no query with the id %q runs on the nodes that answered; ask again when all do", st.ID)
	case err != nil:
		return Result{AffectedRows: 1, Warnings: []string{"the query may still run on some " +
			"nodes: " + errs.From(err).Msg}}, nil
	case killed == 0 && share != "":
		return Result{}, errs.New(errs.InvalidArguments, "no query of yours with the id %q is running", st.ID)
	case killed == 0:
		return Result{}, errs.New(errs.InvalidArguments, "no query with the id %q is running", st.ID)
	}
	return Result{AffectedRows: 1}, nil
}

// describeQuery answers with the columns of a query's result.
func describeQuery(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	d, err := s.reader.describe(ctx, st.(*statement.DescribeQuery).Text, req, nil)
	if err != nil {
		return err
	}
	rows := make([][]string, len(d.Columns))
	for i, c := range d.Columns {
		rows[i] = []string{c.Name, c.Type}
	}
	out := textRows([]string{"Column", "Type"}, rows)
	defer out.Release()
	if req.Limited {
		return each(ctx, Result{Rows: &limited{Rows: out, left: req.Limit}})
	}
	return each(ctx, Result{Rows: out})
}

// definition returns the definition of a table that a statement reads.
func (r *reader) definition(name *shardpb.TableName) (*schema.Table, error) {
	if t, ok := r.internalTable(name.Database, name.Name); ok {
		return t, r.by().Require(reads(t.Database, t.Name))
	}
	if schema.ReservedDatabase(name.Database) {
		t, err := r.systemTable(name.Database, name.Name)
		if err != nil {
			return nil, err
		}
		return t.schema(), nil
	}
	return r.readable(name.Database, name.Name)
}
