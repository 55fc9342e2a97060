// Package pgcatalog computes the rows of PostgreSQL's catalog, pg_catalog, from the metadata. Clients of
// PostgreSQL's protocol read it to find databases, tables, columns and types.
//
// A database of cordwood is a schema in PostgreSQL. OIDs are the same on all nodes and after restarts:
// PostgreSQL's own OIDs for its own objects, and numbers derived from ids for others. All functions are pure.
package pgcatalog

import (
	"hash/fnv"
	"slices"
	"strings"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// Database is the database that contains the tables.
const Database = schema.CatalogDatabase

// Type is the type of a column of the catalog.
type Type string

// The types, by their letters in the specifications of tables.
const (
	OID     Type = "o"
	Name    Type = "n"
	Text    Type = "t"
	Bool    Type = "b"
	Int2    Type = "s"
	Int4    Type = "i"
	Int8    Type = "l"
	Char    Type = "c"
	Regproc Type = "r"
	Moment  Type = "z"
	// The types of lists, which are stored as texts such as [1,2].
	OIDs      Type = "o[]"
	Texts     Type = "t[]"
	Int2s     Type = "s[]"
	Chars     Type = "c[]"
	Vector    Type = "v"
	OIDVector Type = "V"
)

// Element returns the engine's type of the elements of a list, or empty if t is not a list.
func (t Type) Element() string {
	switch t {
	case OIDs, Int2s, Vector, OIDVector:
		return "BIGINT"
	case Texts, Chars:
		return "VARCHAR"
	}
	return ""
}

// Column is a column of the catalog.
type Column struct {
	Name string
	Type Type
}

// Stored returns the type of the stored values.
func (c Column) Stored() schema.Type {
	switch c.Type {
	case OID, Int8:
		return schema.Int64
	case Bool:
		return schema.Boolean
	case Int2, Int4:
		return schema.Int32
	case Moment:
		return schema.TimestampNanosecond
	}
	return schema.String
}

// Table is a table of the catalog.
type Table struct {
	Name    string
	OID     int64
	Columns []Column
	// Sizes means that the rows need the sizes of tables.
	Sizes bool
	rows  func(s *Source, add func(values ...any)) error
}

// Rows adds the rows.
func (t *Table) Rows(s *Source, add func(values ...any)) error {
	if t.rows == nil {
		return nil
	}
	return t.rows(s, add)
}

// Lists reports whether a column of the table is a list.
func (t *Table) Lists() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Type.Element() != "" })
}

// Size is the size of a table.
type Size struct{ Rows, Bytes int64 }

// Source is the data from which the rows are computed.
type Source struct {
	// Catalog is the client's name for the database that it is connected to.
	Catalog string
	User    string
	// Users are the other users that the user may know.
	Users []string
	// Holders returns the users and roles whose privileges the user may know: the user under CurrentRole and by name,
	// PUBLIC, and others.
	Holders func() []Holder
	// Sessions are the sessions of PostgreSQL clients of this node that the user may see.
	Sessions []*metapb.ClientSession
	// Databases are all databases, including the server's own.
	Databases []string
	// Tables are the tables of a database that the user may read, and Seen those on which the user has any privilege.
	Tables, Seen func(database string) []*schema.Table
	// System are the tables of the server's own databases.
	System []*schema.Table
	Sizes  func() (map[uint64]Size, error)
	// Only has the values of columns to which the rows of the next table may be restricted. Rows with other values may
	// be there, too.
	Only map[string][]int64

	schemaOIDs map[string]int64 // made when it is first needed
}

// TablesOf returns the tables of a database, which may be one of the server's own.
func (s *Source) TablesOf(database string) []*schema.Table {
	if !schema.ReservedDatabase(database) {
		return s.Tables(database)
	}
	var out []*schema.Table
	for _, t := range s.System {
		if t.Database == database {
			out = append(out, t)
		}
	}
	return append(out, s.Tables(database)...)
}

// TableOIDs returns the OIDs of the tables of a database by their names.
func (s *Source) TableOIDs(database string) map[string]int64 {
	list := s.TablesOf(database)
	out := make(map[string]int64, len(list))
	for _, t := range list {
		if _, twice := out[t.Name]; !twice {
			out[t.Name] = TableOID(t)
		}
	}
	return out
}

// Named returns the OIDs of all relations with a name, in all schemas.
func (s *Source) Named(name string) (oids []int64) {
	s.eachSeen(func(t *schema.Table, readable bool) {
		if t.Name == name {
			oids = append(oids, TableOID(t))
		}
		if rest, found := strings.CutSuffix(name, "_pkey"); found && readable && t.Name == rest {
			oids = append(oids, indexOID(t))
		}
	})
	if t := byName[name]; t != nil {
		oids = append(oids, t.OID)
	}
	return oids
}

// wants reports whether a row with this value of a column may be needed.
func (s *Source) wants(column string, value int64) bool {
	values, restricted := s.Only[column]
	return !restricted || slices.Contains(values, value)
}

// Find returns a table by its name, in any case, or nil if there is none.
func Find(name string) *Table { return byName[strings.ToLower(name)] }

// The first OIDs of objects with ids.
const (
	tableOIDs    = 0x10000000
	indexOIDs    = 0x40000000
	databaseOIDs = 0x50000000
	systemOIDs   = 0x60000000
	most         = 1<<28 - 1
	userOIDs     = 0x70000000
	// OwnerOID is the owner of all objects.
	OwnerOID = 10
	// Owner is the name of the owner.
	Owner = "svc"
)

// SchemaOID returns the OID of a database as a schema, or 0 if the database does not exist.
func (s *Source) SchemaOID(name string) int64 {
	if s.schemaOIDs == nil {
		s.schemaOIDs = schemaOIDs(s.Databases)
	}
	return s.schemaOIDs[name]
}

// UserOID returns the OID of a user.
func UserOID(name string) int64 {
	if name == Owner {
		return OwnerOID
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return userOIDs + int64(h.Sum32()&most)
}

// schemaOIDs returns the OIDs of all databases, by name.
func schemaOIDs(all []string) map[string]int64 {
	oids, taken := make(map[string]int64, len(all)+3), map[int64]bool{}
	for _, name := range all {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name)) // never fails
		oid := databaseOIDs + int64(h.Sum32()&most)
		for taken[oid] {
			oid++
		}
		taken[oid] = true
		oids[name] = oid
	}
	oids[Database], oids[schema.DefaultDatabase], oids[schema.InformationDatabase] = 11, 2200, 13000
	return oids
}

// TableOID returns the OID of a table, which may be a system table.
func TableOID(t *schema.Table) int64 {
	if schema.ReservedDatabase(t.Database) && t.ID >= 1<<62 {
		return systemOIDs + int64(t.ID&most)
	}
	return tableOIDs + int64(t.ID&most)
}

// indexOID returns the OID of the primary key of a table.
func indexOID(t *schema.Table) int64 { return indexOIDs + int64(t.ID&most) }

// keyOf returns the numbers of the primary key columns: the tags and the time index, if the table has tags.
func keyOf(t *schema.Table) (key []int) {
	tags := false
	for i, c := range t.Columns {
		if c.Semantic == schema.Tag {
			tags = true
		}
		if c.Semantic == schema.Tag || c.Semantic == schema.Timestamp {
			key = append(key, i+1)
		}
	}
	if !tags {
		return nil
	}
	return key
}
