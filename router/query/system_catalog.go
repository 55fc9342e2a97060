package query

import (
	"context"
	"sync"

	"cordwood/proto/schema"
	"cordwood/router/access"
	"cordwood/router/query/pgcatalog"
)

// catalogTables are the tables of PostgreSQL's catalog by name. They are not listed among the other system tables.
var catalogTables = func() map[string]*systemTable {
	m := map[string]*systemTable{}
	for i, t := range pgcatalog.Tables {
		st := &systemTable{id: 1000 + uint64(i), database: schema.CatalogDatabase, name: t.Name, needs: access.Query}
		for _, c := range t.Columns {
			st.columns = append(st.columns, schema.Column{Name: c.Name, Type: c.Stored()})
		}
		if t.Sizes {
			st.stats = statsTables
		}
		st.rows = func(f *facts, w *rowWriter) error {
			source := f.catalogSource()
			source.Only = f.only[t.Name]
			if err := f.addClients(source, t.Name); err != nil {
				return err
			}
			return t.Rows(source, func(values ...any) { w.add(values...) })
		}
		m[t.Name] = st
	}
	return m
}()

// catalogTable returns a table of PostgreSQL's catalog, or nil if there is none.
func catalogTable(name string) *systemTable {
	if t := pgcatalog.Find(name); t != nil {
		return catalogTables[t.Name]
	}
	return nil
}

// addClients adds users and sessions to the data for the tables that show them.
func (f *facts) addClients(s *pgcatalog.Source, table string) (err error) {
	switch table {
	case "pg_roles", "pg_user", "pg_authid":
		s.Users = f.userNames()
	case "pg_stat_activity":
		s.Sessions, err = f.clientSessions(false)
	}
	return err
}

// catalogSource returns the data for the rows of the catalog.
func (f *facts) catalogSource() *pgcatalog.Source {
	s := &pgcatalog.Source{
		Catalog: f.catalog, User: access.From(f.ctx).User, Databases: f.names.databaseNames(), Tables: f.names.readableTables,
		Seen: f.names.seenTables, Holders: holdersOf(f.clients, access.From(f.ctx)),
		Sizes: func() (map[uint64]pgcatalog.Size, error) {
			of, err := f.sizes()
			out := make(map[uint64]pgcatalog.Size, len(of.tables))
			for id, size := range of.tables {
				out[id] = pgcatalog.Size{Rows: size.rows, Bytes: size.bytes}
			}
			return out, err
		},
	}
	s.System = schemasOf(f.system)
	return s
}

// schemasOf returns the definitions of system tables.
func schemasOf(tables []*systemTable) (out []*schema.Table) {
	for _, t := range tables {
		out = append(out, t.schema())
	}
	return out
}

// readableTables returns the tables of a database that the caller may read.
func (n names) readableTables(database string) []*schema.Table { return n.tables(database, false) }

// seenTables returns the tables of a database on which the caller has any privilege.
func (n names) seenTables(database string) []*schema.Table { return n.tables(database, true) }

// holdersOf returns the users and roles whose privileges the caller may know, once they are needed.
func holdersOf(c clients, caller *access.Caller) func() []pgcatalog.Holder {
	return sync.OnceValue(func() []pgcatalog.Holder { return c.holders(caller) })
}

// Catalog returns the data for PostgreSQL's catalog for the caller in ctx. catalog is the client's name for the
// database that it is connected to.
func (s *Service) Catalog(ctx context.Context, catalog, user string) *pgcatalog.Source {
	names := s.names.of(ctx)
	return &pgcatalog.Source{
		Catalog: catalog, User: user, Databases: names.databaseNames(), Tables: names.readableTables,
		Seen: names.seenTables, Holders: holdersOf(s.reader.clients, access.From(ctx)),
		System: schemasOf(names.systemTables()),
	}
}
