package pgcatalog

import (
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
)

// Privileges is a set of PostgreSQL's privileges.
type Privileges int64

// PostgreSQL's privileges.
const (
	Select Privileges = 1 << iota
	Insert
	Update
	Delete
	Truncate
	References
	Trigger
	Usage
	Create
	Connect
	Temporary
	Member
	Execute
	Set
	AlterSystem
)

// ObjectKind is a kind of objects that privileges are about.
type ObjectKind string

// The kinds of objects that cordwood_privileges contains.
const (
	Relation  ObjectKind = "r"
	Namespace ObjectKind = "n"
	Catalogs  ObjectKind = "d"
	Role      ObjectKind = "u"
)

// NamedPrivilege is a privilege under a name that PostgreSQL's functions accept. Grantable means that the holder may
// grant it.
type NamedPrivilege struct {
	Name      string
	Set       Privileges
	Grantable bool
}

// withGrantOption returns the privileges of a list of names, each with and without the right to grant it.
func withGrantOption(names string, sets ...Privileges) (out []NamedPrivilege) {
	for i, name := range strings.Fields(names) {
		out = append(out, NamedPrivilege{name, sets[i], false}, NamedPrivilege{name + " WITH GRANT OPTION", sets[i], true})
	}
	return out
}

// The names of the privileges on each kind of objects.
var (
	RelationPrivileges = withGrantOption("SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER RULE",
		Select, Insert, Update, Delete, Truncate, References, Trigger, 0)
	ColumnPrivileges   = withGrantOption("SELECT INSERT UPDATE REFERENCES", Select, Insert, Update, References)
	SequencePrivileges = withGrantOption("USAGE SELECT UPDATE", Usage, Select, Update)
	SchemaPrivileges   = withGrantOption("CREATE USAGE", Create, Usage)
	DatabasePrivileges = withGrantOption("CREATE TEMPORARY TEMP CONNECT", Create, Temporary, Temporary, Connect)
	UsagePrivileges    = withGrantOption("USAGE", Usage)
	ExecutePrivileges  = withGrantOption("EXECUTE", Execute)
	CreatePrivileges   = withGrantOption("CREATE", Create)
	RolePrivileges     = append(withGrantOption("MEMBER USAGE", Member, Usage),
		NamedPrivilege{"MEMBER WITH ADMIN OPTION", Member, true}, NamedPrivilege{"USAGE WITH ADMIN OPTION", Usage, true})
	ParameterPrivileges = append(withGrantOption("SET", Set), NamedPrivilege{"ALTER SYSTEM", AlterSystem, false},
		NamedPrivilege{"ALTER SYSTEM WITH GRANT OPTION", AlterSystem, true})
)

// ParsePrivileges reads a list of names that are separated by commas. Each result is enough for the answer true:
// a privilege in has, or one in grantable that the holder may grant. If a name is unknown, the error contains it.
func ParsePrivileges(list string, known []NamedPrivilege) (has, grantable Privileges, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(known, func(p NamedPrivilege) bool { return strings.EqualFold(p.Name, name) })
		switch {
		case i < 0:
			return 0, 0, fmt.Errorf("unrecognized privilege type: %q", name)
		case known[i].Grantable:
			grantable |= known[i].Set
		default:
			has |= known[i].Set
		}
	}
	return has, grantable, nil
}

// The OIDs of roles that are no users: the caller under any name, and PUBLIC.
const (
	CurrentRole = 1
	PublicRole  = 0
)

// Holder is a user or role.
type Holder struct {
	Name string
	OID  int64
	// On returns the holder's privileges on an object, and those of them that the holder may grant. For a relation,
	// schema is the schema that contains it.
	On func(kind ObjectKind, schema, name string) (has, grantable Privileges)
}

// NewHolder returns a user or role with the OID of its name.
func NewHolder(name string, on func(kind ObjectKind, schema, name string) (has, grantable Privileges)) Holder {
	return Holder{name, UserOID(name), on}
}

// RoleOID returns the OID of a user or role that the caller may know.
func (s *Source) RoleOID(name string) (oid int64, ok bool) {
	if name == s.User {
		return CurrentRole, true
	}
	for _, h := range s.Holders() {
		if h.Name == name {
			return h.OID, true
		}
	}
	return 0, false
}

// SeenOIDs returns the OIDs of the tables of a database on which the caller has any privilege, by their names.
func (s *Source) SeenOIDs(database string) map[string]int64 {
	all := *s
	all.Tables = s.Seen
	return all.TableOIDs(database)
}

// HasColumn reports whether a table on which the caller has any privilege has a column.
func (s *Source) HasColumn(table int64, name string) (has bool) {
	all := *s
	all.Tables = s.Seen
	all.each(func(t *schema.Table) {
		named := func(c schema.Column) bool { return c.Name == name }
		has = has || TableOID(t) == table && slices.ContainsFunc(t.Columns, named)
	})
	for _, t := range Tables {
		has = has || t.OID == table && slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Name == name })
	}
	return has
}

// maxPrivilegeRows bounds the memory of cordwood_privileges for statements that ask about all users.
const maxPrivilegeRows = 500_000

// privilegeRows adds, for functions, the privileges of users and roles on each object. The key of an object is its OID;
// schemas, databases and roles have a second row with the name.
func privilegeRows(s *Source, add func(...any)) error {
	holders := slices.DeleteFunc(slices.Clone(s.Holders()), func(h Holder) bool { return !s.wants("role", h.OID) })
	all := *s
	all.Tables = s.Seen
	rows := 0
	for _, h := range holders {
		row := func(kind ObjectKind, oid int64, schemaName, name string) {
			has, grantable := h.On(kind, schemaName, name)
			add(h.OID, string(kind), itoa(oid), int64(has), int64(grantable))
			rows++
			if kind != Relation {
				add(h.OID, string(kind), name, int64(has), int64(grantable))
				rows++
			}
		}
		for _, name := range s.schemas() {
			row(Namespace, s.SchemaOID(name), "", name)
		}
		for _, name := range s.catalogs() {
			row(Catalogs, s.catalogOID(name), "", name)
		}
		for _, other := range s.Holders() {
			if other.OID != PublicRole && other.OID != CurrentRole {
				row(Role, other.OID, "", other.Name)
			}
		}
		all.each(func(t *schema.Table) {
			row(Relation, TableOID(t), t.Database, t.Name)
			if keyOf(t) != nil {
				row(Relation, indexOID(t), t.Database, t.Name)
			}
		})
		for _, t := range Tables {
			row(Relation, t.OID, Database, t.Name)
		}
		if rows > maxPrivilegeRows {
			return errs.New(errs.RuntimeResourcesExhausted, "the privileges of %d users and roles on all objects are too "+
				"many; name the user as a text, as in has_table_privilege('ann', c.oid, 'SELECT')", len(holders))
		}
	}
	return nil
}

// ColumnTypes returns the OIDs of the types of a table's columns, by their names. The caller may have any privilege on
// the table.
func (s *Source) ColumnTypes(table int64) map[string]int64 {
	types := map[string]int64{}
	all := *s
	all.Tables = s.Seen
	all.each(func(t *schema.Table) {
		if TableOID(t) != table {
			return
		}
		for _, c := range t.Columns {
			types[c.Name], _ = typeOf(c.Type)
		}
	})
	return types
}
