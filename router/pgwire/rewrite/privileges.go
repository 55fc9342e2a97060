package rewrite

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cordwood/router/query/pgcatalog"
	"cordwood/router/query/statement"
)

// PostgreSQL's functions of privileges, such as has_table_privilege. The first argument, a user, may be missing.
// Objects and users are names or OIDs. Names in literals are looked up here, because PostgreSQL reports those that do
// not exist. The privileges themselves are in a table of the catalog that only these functions read.

// privilegeFunction describes a function of privileges.
type privilegeFunction struct {
	kind  pgcatalog.ObjectKind
	known []pgcatalog.NamedPrivilege
	// column means that the name or number of a column follows the table.
	column bool
	// always is the answer for each object of a kind that has no privileges here. find returns the SQLSTATE and the error
	// for a name in a literal, or nothing if the object exists.
	always string
	find   func(r *rewriter, name string) (state, text string)
}

var privilegeFunctions = map[string]privilegeFunction{
	"has_table_privilege":      {kind: pgcatalog.Relation, known: pgcatalog.RelationPrivileges},
	"has_any_column_privilege": {kind: pgcatalog.Relation, known: pgcatalog.ColumnPrivileges},
	"has_column_privilege":     {kind: pgcatalog.Relation, known: pgcatalog.ColumnPrivileges, column: true},
	"has_schema_privilege":     {kind: pgcatalog.Namespace, known: pgcatalog.SchemaPrivileges},
	"has_database_privilege":   {kind: pgcatalog.Catalogs, known: pgcatalog.DatabasePrivileges},
	"pg_has_role":              {kind: pgcatalog.Role, known: pgcatalog.RolePrivileges},

	"has_function_privilege":  {known: pgcatalog.ExecutePrivileges, always: "TRUE"},
	"has_parameter_privilege": {known: pgcatalog.ParameterPrivileges, always: "FALSE"},
	"has_type_privilege":      {known: pgcatalog.UsagePrivileges, always: "TRUE", find: missingType},
	"has_language_privilege": {
		known: pgcatalog.UsagePrivileges, always: "TRUE", find: missingUnless("language", "internal", "sql"),
	},
	"has_tablespace_privilege": {
		known: pgcatalog.CreatePrivileges, always: "FALSE", find: missingUnless("tablespace", "pg_default", "pg_global"),
	},
	"has_foreign_data_wrapper_privilege": {
		known: pgcatalog.UsagePrivileges, always: "NULL", find: missingUnless("foreign-data wrapper"),
	},
	"has_server_privilege":   {known: pgcatalog.UsagePrivileges, always: "NULL", find: missingUnless("server")},
	"has_sequence_privilege": {known: pgcatalog.SequencePrivileges, always: "NULL", find: missingSequence},
}

// missingUnless reports names that are not in a list.
func missingUnless(what string, names ...string) func(*rewriter, string) (state, text string) {
	return func(_ *rewriter, name string) (state, text string) {
		if slices.Contains(names, name) {
			return "", ""
		}
		return "42704", fmt.Sprintf("%s %q does not exist", what, name)
	}
}

func missingType(r *rewriter, name string) (state, text string) {
	if _, ok := r.lookUp("regtype", name); ok {
		return "", ""
	}
	return "42704", fmt.Sprintf("type %q does not exist", name)
}

// missingSequence reports all names, because there are no sequences.
func missingSequence(r *rewriter, name string) (state, text string) {
	if _, ok := r.seen(name); ok {
		return "42809", fmt.Sprintf("%q is not a sequence", name)
	}
	return "42P01", fmt.Sprintf("relation %q does not exist", name)
}

// fail sets the error about a name in a literal. It returns SQL that stands in for the value.
func (r *rewriter) fail(state, name, text string) string {
	if r.err == nil {
		r.err = &Error{State: state, Text: text, At: -1, name: name}
	}
	return nullBool
}

const nullBool = "CAST(NULL AS BOOLEAN)"

// expand replaces a call of the function.
func (f privilegeFunction) expand(r *rewriter, args []string) (string, bool) {
	objects := 1
	if f.column {
		objects = 2
	}
	role := itoa(pgcatalog.CurrentRole)
	switch len(args) {
	case objects + 1:
	case objects + 2:
		role = r.roleOID(args[0])
		args = args[1:]
	default:
		return "", false
	}
	if role == nullBool || slices.ContainsFunc(args, isNullText) {
		return nullBool, true
	}
	held := f.held(r, args[objects])
	if f.always != "" {
		if name, ok := literalOf(args[0]); ok && f.find != nil && !isWhole(name) {
			if state, text := f.find(r, name); state != "" {
				return r.fail(state, name, text), true
			}
		}
		return fmt.Sprintf("CASE WHEN (%s) IS NOT NULL THEN CAST(%s AS BOOLEAN) END", args[0], f.always), true
	}
	key := r.objectKey(f.kind, args[0])
	if f.column {
		r.checkColumn(args[0], args[1])
	}
	// Only in this form, rows of other users are not computed.
	from, match := "(SELECT * FROM pg_catalog.cordwood_privileges WHERE role IN ("+role+"))", ""
	if !isWhole(role) {
		from, match = "pg_catalog.cordwood_privileges", "cordwood_d.role = "+role+" AND "
	}
	return "(SELECT bool_or(" + held + ") FROM " + from + " AS cordwood_d WHERE " + match + "cordwood_d.kind = " +
		quote(string(f.kind)) + " AND cordwood_d.key = " + key + ")", true
}

func isNullText(arg string) bool { return strings.EqualFold(strings.TrimSpace(arg), "NULL") }

// isWhole reports whether a text is a whole number, as OIDs are.
func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}

// roleOID returns SQL for the OID of a user or role, whose name or OID is an expression. The user of the session is
// CurrentRole.
func (r *rewriter) roleOID(arg string) string {
	if isNullText(arg) {
		return nullBool
	}
	name, literal := literalOf(arg)
	switch {
	case !literal && isWhole(arg):
		if arg == itoa(pgcatalog.UserOID(r.s.User)) {
			return itoa(pgcatalog.CurrentRole)
		}
		return arg
	case !literal:
		return "coalesce(TRY_CAST(" + arg + " AS BIGINT), (SELECT any_value(cordwood_u.oid) FROM pg_catalog.pg_roles AS " +
			"cordwood_u WHERE cordwood_u.rolname = CAST(" + arg + " AS VARCHAR)))"
	}
	oid, ok := r.s.Role(name)
	if !ok {
		return r.fail("42704", name, fmt.Sprintf("role %q does not exist", name))
	}
	return itoa(oid)
}

// seen returns the OID of a table on which the user has any privilege.
func (r *rewriter) seen(text string) (int64, bool) {
	schemaName, name := splitName(text)
	if schemaName == pgcatalog.Database || schemaName == "" {
		if t := pgcatalog.Find(name); t != nil {
			return t.OID, true
		}
	}
	return r.s.Seen(schemaName, name)
}

// objectKey returns SQL for the key of an object in the table of privileges.
func (r *rewriter) objectKey(kind pgcatalog.ObjectKind, arg string) string {
	name, literal := literalOf(arg)
	if literal && isWhole(name) {
		return quote(name)
	}
	switch {
	case kind == pgcatalog.Relation && literal:
		oid, ok := r.seen(name)
		if !ok {
			return r.fail("42P01", name, fmt.Sprintf("relation %q does not exist", name))
		}
		return quote(itoa(oid))
	case kind == pgcatalog.Relation:
		if c, ok := r.regs[strings.TrimSpace(arg)]; ok {
			arg = r.oidOf(c.typ, c.operand)
		} else if !isOID(arg) {
			arg = r.oidOf("regclass", arg)
		}
	case literal:
		state, what := "3F000", "schema"
		_, found := int64(0), false
		switch kind {
		case pgcatalog.Namespace:
			found = r.s.SchemaOID(name) != 0
		case pgcatalog.Catalogs:
			state, what = "3D000", "database"
			found = name == r.s.Catalog || r.s.SchemaOID(name) != 0
		case pgcatalog.Role:
			state, what = "42704", "role"
			_, found = r.s.Role(name)
		}
		if !found {
			return r.fail(state, name, fmt.Sprintf("%s %q does not exist", what, name))
		}
		return quote(name)
	}
	return "CAST(" + arg + " AS VARCHAR)"
}

// isOID reports whether an expression is certainly a number: an OID of the catalog, a number, or a cast to one.
func isOID(arg string) bool {
	list := statement.Tokens(arg)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	name := strings.ToLower(last.Value)
	return last.Kind == statement.TokenNumber || strings.HasSuffix(arg, " AS BIGINT)") || name == "bigint" ||
		(last.Kind == statement.TokenWord || last.Kind == statement.TokenName) &&
			(strings.HasSuffix(name, "oid") || strings.HasSuffix(name, "relid"))
}

// checkColumn reports the name of a column in a literal that a table in a literal does not have.
func (r *rewriter) checkColumn(table, column string) {
	name, ok := literalOf(table)
	col, literal := literalOf(column)
	if !ok || !literal || isWhole(col) {
		return
	}
	if oid, ok := r.seen(name); ok && !r.s.HasColumn(oid, col) {
		_ = r.fail("42703", col, fmt.Sprintf("column %q of relation %q does not exist", col, name))
	}
}

// held returns SQL for whether a row of the table of privileges has one of the privileges in a list. A list that is
// not a literal has one privilege.
func (f privilegeFunction) held(r *rewriter, arg string) string {
	const granted, grantable = "(cordwood_d.granted & %d) <> 0", "(cordwood_d.grantable & %d) <> 0"
	if list, ok := literalOf(arg); ok {
		has, grant, err := pgcatalog.ParsePrivileges(list, f.known)
		if err != nil {
			return r.fail("22023", list, err.Error())
		}
		return fmt.Sprintf(granted+" OR "+grantable, has, grant)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "CASE upper(trim(%s))", arg)
	for _, p := range f.known {
		test := granted
		if p.Grantable {
			test = grantable
		}
		fmt.Fprintf(&b, " WHEN %s THEN "+test, quote(p.Name), p.Set)
	}
	fmt.Fprintf(&b, ` ELSE CAST(error('unrecognized privilege type: "' || (%s) || '"') AS BOOLEAN) END`, arg)
	return b.String()
}
