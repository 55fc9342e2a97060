package rewrite

import (
	"strings"

	"cordwood/router/query/statement"
)

// In PostgreSQL, a value of regclass is an OID that is shown as a name. Here, the cast of an expression to a reg type
// is an OID where its number matters: where it is compared, cast to a number, or passed to a function that takes an
// OID. Elsewhere it is the name.

// oidTypes are the types to which values of reg types are cast to get their OIDs.
var oidTypes = map[string]bool{
	"oid": true, "int4": true, "int": true, "integer": true, "int8": true, "bigint": true, "xid8": true,
}

// oidFunctions are the functions whose first argument is an OID.
var oidFunctions = map[string]bool{
	"obj_description": true, "col_description": true, "shobj_description": true, "pg_get_indexdef": true,
	"pg_get_constraintdef": true, "pg_get_viewdef": true, "pg_get_triggerdef": true, "pg_table_is_visible": true,
	"pg_table_size": true, "pg_relation_size": true, "pg_total_relation_size": true, "pg_indexes_size": true,
	"pg_relation_filepath": true, "pg_get_partkeydef": true, "pg_index_column_has_property": true,
}

// sizeFunctions are the functions of the sizes of tables. Their argument is a regclass, so a text is a name.
var sizeFunctions = map[string]bool{
	"pg_table_size": true, "pg_relation_size": true, "pg_total_relation_size": true, "pg_indexes_size": true,
}

// regValue writes the cast of an expression to a reg type.
func (r *rewriter) regValue(operand []tok, typ string) {
	text := joined(operand)
	if r.oidMatters() {
		r.raw(operand[0], r.oidOf(typ, text))
		return
	}
	name := regText(typ, text)
	if typ == "regtype" {
		name = typeName(text)
	}
	if r.regs == nil {
		r.regs = map[string]regCast{}
	}
	r.regs[name] = regCast{typ, text}
	r.raw(operand[0], name)
}

// regCast is a cast of an expression to a reg type.
type regCast struct{ typ, operand string }

// oidMatters reports whether the number of the value between the output and the next token is used.
func (r *rewriter) oidMatters() bool {
	if next := r.at(0); next.sym("::") {
		t, ok := r.readType(1)
		return ok && !t.array && oidTypes[t.name]
	} else if next.sym("=") || next.sym("<") || next.sym(">") || next.sym("!") {
		n := 1
		for r.at(n).sym("=") || r.at(n).sym(">") {
			n++
		}
		return r.at(n).kind != statement.TokenText // a name is compared as text
	}
	n := len(r.out)
	return n > 1 && (r.out[n-1].sym("=") || r.out[n-1].sym(">") || r.out[n-1].sym("<")) &&
		r.out[n-2].kind != statement.TokenText
}

// oidArgument returns the argument of a function that takes an OID.
func (r *rewriter) oidArgument(arg string) string {
	if c, ok := r.regs[strings.TrimSpace(arg)]; ok {
		return r.oidOf(c.typ, c.operand)
	}
	return arg
}

// The patterns for the last part of a name and the part before it, in quotes (group 1) or without (group 2).
const (
	namePattern   = `'(?:^|\.)(?:"((?:[^"]|"")*)"|([^".]+))$'`
	schemaPattern = `'(?:^|\.)(?:"((?:[^"]|"")*)"|([^".]+))\.(?:"(?:[^"]|"")*"|[^".]+)$'`
)

// part returns SQL for the part of a name that a pattern finds.
func part(name, pattern string) string {
	text := "CAST(" + name + " AS VARCHAR)"
	return "replace(regexp_extract(" + text + ", " + pattern + ", 1) || regexp_extract(" + text + ", " + pattern +
		`, 2), '""', '"')`
}

// typeName returns SQL for the name of the type whose name or OID is an expression. A type that is found by its name is
// looked up once: the engine copies the operand of a CASE into each of its branches.
func typeName(operand string) string {
	oid := "TRY_CAST(" + operand + " AS BIGINT)"
	return "CASE WHEN " + oid + " IS NULL THEN (SELECT any_value(" + formatType("cordwood_t.oid", "NULL") +
		") FROM pg_catalog.pg_type AS cordwood_t WHERE cordwood_t.typname = " + part(operand, namePattern) + ") ELSE " +
		formatType(oid, "NULL") + " END"
}

// oidOf returns SQL for the OID of the object whose name or OID is an expression. If no object has the name, the OID is
// null.
func (r *rewriter) oidOf(typ, operand string) string {
	if typ != "regclass" {
		return "coalesce(TRY_CAST(" + operand + " AS BIGINT), " + regOID(typ, part(operand, namePattern)) + ")"
	}
	path := make([]string, 0, len(r.s.Path)+1)
	for _, name := range r.s.Path {
		path = append(path, quote(name))
	}
	names := strings.Join(append(path, quote("pg_catalog")), ", ")
	return "coalesce(TRY_CAST(" + operand + " AS BIGINT), (SELECT arg_min(cordwood_t.oid, coalesce(list_position([" +
		names + "], cordwood_n.nspname), 0)) FROM pg_catalog.pg_class AS cordwood_t JOIN pg_catalog.pg_namespace AS " +
		"cordwood_n ON cordwood_n.oid = cordwood_t.relnamespace WHERE cordwood_t.relname = " + part(operand, namePattern) +
		" AND (cordwood_n.nspname = " + part(operand, schemaPattern) + " OR cordwood_n.nspname IN (" + names +
		") AND NOT regexp_matches(CAST(" + operand + " AS VARCHAR), " + schemaPattern + "))))"
}
