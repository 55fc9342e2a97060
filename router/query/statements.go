package query

import (
	"cmp"
	"context"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/zone"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// kind describes one type of statement.
type kind struct {
	// Row has the right that the statement needs, a description of its action, and whether it is logged.
	access.Row
	// metadata is how much the statement needs to know about other nodes' changes.
	metadata freshness
	// stores is set if it stores rows, which a second run would store again.
	stores bool
	// run carries it out.
	run handler
}

// handler carries out a statement of one type, and hands the result to each.
type handler func(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error

// resultFunc receives the result of a statement.
type resultFunc = func(ctx context.Context, res Result) error

// kinds has a row for each type of statement: the rights that it needs, and the function that executes it. A type
// without a row is refused to everybody. Rows that INSERT stores are not logged, and neither are
// rows of ingestion.
var kinds = map[reflect.Type]kind{
	of[*statement.Query](): {
		access.Row{Privilege: access.Query, Action: "select"}, oldIsFine, false, runQuery,
	},
	of[*statement.Insert](): {
		access.Row{
			Privilege: access.Insert, Action: "insert",
			Object: access.Table,
		}, oldIsFine, true, runInsert,
	},
	of[*statement.Delete](): {
		logged(access.Delete, "delete", access.Table), oldIsFine, true, change((*Service).delete),
	},
	of[*statement.SetTimeZone](): {
		access.Row{Privilege: access.SignedIn, Action: "set the time zone"}, oldIsFine, false, setTimeZone,
	},

	of[*statement.ShowDatabases](): {
		describes("show databases", access.NoObject), freshSoon, false, show(describer.showDatabases),
	},
	of[*statement.ShowTables](): {
		describes("show tables", access.Database), freshSoon, false, show(describer.showTables),
	},
	of[*statement.ShowQuotas](): {
		access.Row{Privilege: access.Monitor, Action: "show quotas"}, freshSoon, false, show(describer.showQuotas),
	},
	of[*statement.ShowCreateDatabase](): {
		describes("show create database", access.Database), freshSoon, false, show(describer.showCreateDatabase),
	},
	of[*statement.ShowCreateTable](): {
		describes("show create table", access.Table), freshSoon, false, show(describer.showCreateTable),
	},
	of[*statement.Describe](): {
		describes("describe table", access.Table), freshSoon, false, show(describer.describe),
	},

	of[*statement.DescribeQuery](): {
		access.Row{Privilege: access.Query, Action: "describe a query"}, oldIsFine, false, describeQuery,
	},
	of[*statement.Kill](): {
		logged(access.Query, "end a query", access.NoObject), oldIsFine, false, change((*Service).kill),
	},

	of[*statement.CreateUser](): {
		logged(access.ManageAccess, "create user", access.Principal), freshAtLast, false, change((*Service).createUser),
	},
	of[*statement.AlterUser](): {
		logged(access.SignedIn, "alter user", access.Principal), freshAtLast, false, change((*Service).alterUser),
	},
	of[*statement.CreateRole](): {
		logged(access.ManageAccess, "create role", access.Role), freshAtLast, false, change((*Service).createRole),
	},
	of[*statement.AlterRole](): {
		logged(access.ManageAccess, "alter role", access.Role), freshAtLast, false, change((*Service).alterRole),
	},
	of[*statement.DropPrincipal](): {
		logged(access.ManageAccess, "drop user", access.Principal), freshAtLast, false, change((*Service).dropPrincipal),
	},
	of[*statement.Grant](): {
		logged(access.SignedIn, "grant", access.Principal), freshAtLast, false, change((*Service).grant),
	},
	of[*statement.GrantRole](): {
		logged(access.ManageAccess, "grant role", access.Principal), freshAtLast, false, change((*Service).grantRole),
	},
	of[*statement.ShowPrincipals](): {
		access.Row{Privilege: access.ManageAccess, Action: "show users"}, freshSoon, false, showPrincipals,
	},
	of[*statement.ShowAccess](): {
		access.Row{Privilege: access.ManageAccess, Action: "show who has access"}, freshSoon, false, showAccess,
	},
	of[*statement.CreateToken](): {
		logged(access.SignedIn, "create token", access.TokenObject), freshAtLast, false, createToken,
	},
	of[*statement.AlterToken](): {
		logged(access.SignedIn, "alter token", access.TokenObject), freshAtLast, false, alterToken,
	},
	of[*statement.DropToken](): {
		logged(access.SignedIn, "drop token", access.TokenObject), freshAtLast, false, change((*Service).dropToken),
	},
	of[*statement.ShowTokens](): {
		access.Row{Privilege: access.SignedIn, Action: "show tokens"}, freshSoon, false, showTokens,
	},
	of[*statement.ShowGrants](): {
		access.Row{Privilege: access.SignedIn, Action: "show grants"}, freshSoon, false, showGrants,
	},

	of[*statement.CreateDatabase](): {
		logged(access.Create, "create database", access.Database), freshAtLast, false,
		define(definer.createDatabase, definer.createDatabaseWarnings),
	},
	of[*statement.AlterDatabase](): {
		logged(access.Alter, "alter database", access.Database), freshAtLast, false,
		define(definer.alterDatabase, definer.alterDatabaseWarnings),
	},
	of[*statement.DropDatabase](): {
		logged(access.Drop, "drop database", access.Database), freshAtLast, false, define(definer.dropDatabase, nil),
	},
	of[*statement.CreateTable](): {
		logged(access.Create, "create table", access.Table), freshAtLast, false, define(definer.createTable,
			definer.createTableWarnings),
	},
	of[*statement.AlterTable](): {
		logged(access.Alter, "alter table", access.Table), freshAtLast, false, change((*Service).alterTable),
	},
	of[*statement.DropTable](): {
		logged(access.Drop, "drop table", access.Table), freshAtLast, false, define(definer.dropTable, nil),
	},
	of[*statement.TruncateTable](): {
		logged(access.Delete, "truncate table", access.Table), freshAtLast, false, define(definer.truncateTable, nil),
	},
}

// of returns the type of a statement.
func of[S statement.Statement]() reflect.Type { return reflect.TypeFor[S]() }

// describes returns the right of a statement that describes objects. The function of the statement shows only what
// the caller may see.
func describes(action string, object access.ObjectKind) access.Row {
	return access.Row{Privilege: access.Query, Action: action, Object: object}
}

// logged returns the right for a statement that changes an object. It is logged.
func logged(p access.Privilege, action string, object access.ObjectKind) access.Row {
	return access.Row{Privilege: p, Action: action, Object: object, Changes: true}
}

// NeedOf returns what a statement needs, and whether it is a change that is logged. database is the database of
// names without one.
func NeedOf(st statement.Statement, database string) (n access.Need, changes bool) {
	row := rowOf(st)
	return row.Need(objectOf(st, database)), row.Changes
}

// rowOf returns the row of a statement. Statements of one type may do different things, and messages and audit records
// name what a statement does.
func rowOf(st statement.Statement) access.Row {
	row := kinds[reflect.TypeOf(st)].Row
	switch st := st.(type) {
	case *statement.AlterDatabase:
		if changesQuotas(st) {
			return quotaRow
		}
	case *statement.DropPrincipal:
		if st.Role {
			row.Action, row.Object = "drop role", access.Role
		}
	case *statement.ShowPrincipals:
		if st.Role {
			row.Action = "show roles"
		}
	case *statement.Grant:
		if st.Revoke {
			row.Action = "revoke"
		}
	case *statement.GrantRole:
		if st.Revoke {
			row.Action = "revoke role"
		}
	case *statement.AlterToken:
		if st.Rotate {
			row.Action = "rotate token"
		}
	}
	return row
}

// objectOf returns the object that a statement names. For a query it names none, because only the engine knows its
// tables.
func objectOf(st statement.Statement, database string) access.Object {
	table := func(n statement.Name) access.Object {
		return access.Object{Database: cmp.Or(n.Database, database, schema.DefaultDatabase), Name: n.Table}
	}
	switch st := st.(type) {
	case *statement.ShowTables:
		return access.Object{Database: cmp.Or(st.Database, database)}
	case *statement.ShowCreateDatabase:
		return access.Object{Database: st.Database}
	case *statement.CreateDatabase:
		return access.Object{Database: st.Database}
	case *statement.AlterDatabase:
		return access.Object{Database: st.Database}
	case *statement.DropDatabase:
		return access.Object{Database: st.Database}
	case *statement.ShowCreateTable:
		return table(st.Name)
	case *statement.Describe:
		return table(st.Name)
	case *statement.CreateTable:
		return table(st.Name)
	case *statement.AlterTable:
		return table(st.Name)
	case *statement.DropTable:
		return table(st.Name)
	case *statement.TruncateTable:
		return table(st.Name)
	case *statement.Delete:
		return table(st.Name)
	case *statement.Insert:
		return table(st.Name)
	case *statement.CreateUser:
		return access.Object{Name: st.Name}
	case *statement.AlterUser:
		return access.Object{Name: st.Name}
	case *statement.CreateRole:
		return access.Object{Name: st.Name}
	case *statement.AlterRole:
		return access.Object{Name: st.Name}
	case *statement.DropPrincipal:
		return access.Object{Name: st.Name}
	case *statement.Grant:
		return access.Object{Name: strings.Join(st.Names, ", ")}
	case *statement.GrantRole:
		return access.Object{Name: strings.Join(st.Names, ", ")}
	case *statement.CreateToken:
		return access.Object{Name: st.Name}
	case *statement.AlterToken:
		return access.Object{Name: st.Name}
	case *statement.DropToken:
		return access.Object{Name: st.Name}
	}
	return access.Object{}
}

// runQuery runs a SELECT on a shard node.
func runQuery(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
	return s.reader.query(ctx, st.(*statement.Query), req, each)
}

// setTimeZone sets the time zone of the following statements.
func setTimeZone(ctx context.Context, _ *Service, st statement.Statement, req *Request, each resultFunc) error {
	name := st.(*statement.SetTimeZone).Zone
	if _, err := zone.Load(name); err != nil {
		return err
	}
	req.Timezone = name
	return each(ctx, Result{})
}

// show returns the handler of a statement that describes something from the metadata.
func show[S statement.Statement](rowsOf func(d describer, st S, database string) (array.RecordReader, error)) handler {
	return func(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
		rows, err := rowsOf(describer{s.names.of(ctx), s.cfg.Quotas}, st.(S), req.Database)
		if err != nil {
			return err
		}
		defer rows.Release()
		if req.Limited {
			return each(ctx, Result{Rows: &limited{Rows: rows, left: req.Limit}})
		}
		return each(ctx, Result{Rows: rows})
	}
}

// define returns the handler for a statement that becomes one metadata command. If the command is nil, there is
// nothing to do. warnings, which may be nil, returns warnings before the change is made.
func define[S statement.Statement](
	command func(d definer, st S, database string) (*metapb.Command, error), warnings func(d definer, st S,
		database string) []string,
) handler {
	return change(func(s *Service, ctx context.Context, st S, req *Request) (res Result, err error) {
		d := s.definer.of(ctx)
		if warnings != nil {
			res.Warnings = warnings(d, st, req.Database)
		}
		cmd, err := command(d, st, req.Database)
		if err != nil {
			return res, err
		}
		return res, s.propose(ctx, cmd)
	})
}

// change returns the handler for a statement that returns a count.
func change[S statement.Statement](do func(s *Service, ctx context.Context, st S,
	req *Request) (Result, error),
) handler {
	return func(ctx context.Context, s *Service, st statement.Statement, req *Request, each resultFunc) error {
		res, err := do(s, ctx, st.(S), req)
		if err != nil {
			return err
		}
		return each(ctx, res)
	}
}

// propose sends cmd through the metadata log. It does nothing if cmd is nil.
func (s *Service) propose(ctx context.Context, cmd *metapb.Command) error {
	if cmd == nil {
		return nil
	}
	cmd.TimeUnixNano = s.cfg.Now().UnixNano()
	_, err := s.cfg.Meta.Propose(ctx, cmd)
	return err
}

// kindOf returns the row of a statement.
func kindOf(st statement.Statement) (kind, error) {
	k, ok := kinds[reflect.TypeOf(st)]
	if !ok {
		return k, errs.New(errs.Unexpected, "statement %T is not known", st)
	}
	return k, nil
}
