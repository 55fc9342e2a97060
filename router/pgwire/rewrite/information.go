package rewrite

import (
	_ "embed"
	"fmt"
	"strings"

	"cordwood/router/query/pgcatalog"
)

// information rewrites the tables of information_schema that have other columns in PostgreSQL.
func (r *rewriter) information() bool {
	name := strings.ToLower(r.at(2).val)
	if name == "_pg_expandarray" && r.at(3).sym("(") {
		return r.expandArray()
	}
	if r.at(3).sym(".") { // a column: the subquery in place of the table has no schema
		t := r.at(2)
		t.pre = r.at(0).pre
		r.push(t)
		r.i += 3
		return true
	}
	if r.at(3).sym("(") && r.call(2) { // such as _pg_char_max_length
		return true
	}
	text := r.informationTable(name)
	if text == "" {
		return false
	}
	if !r.aliased(3) {
		text += " AS " + name
	}
	r.raw(r.at(0), text)
	r.i += 3
	return true
}

//go:embed information.txt
var informationText string

// emptyViews are the tables of information_schema that are always empty, with their columns in PostgreSQL 15. Columns
// have the suffix :i if they are integers, and :z if they are times.
var emptyViews = func() map[string]string {
	views := map[string]string{}
	for line := range strings.Lines(informationText) {
		name, columns, _ := strings.Cut(strings.TrimSpace(line), " ")
		views[name] = columns
	}
	return views
}()

// emptyColumn returns SQL for a column of an empty table.
func emptyColumn(spec string) string {
	name, suffix, _ := strings.Cut(spec, ":")
	switch suffix {
	case "i":
		return "CAST(NULL AS INTEGER) AS " + name
	case "z":
		return "CAST(NULL AS TIMESTAMP) AS " + name
	}
	return nullText + " AS " + name
}

// informationTable returns a query for a table of information_schema, or an empty string if the table is not replaced.
func (r *rewriter) informationTable(name string) string {
	catalog := quote(r.s.Catalog)
	if columns, ok := emptyViews[name]; ok {
		var list []string
		for c := range strings.FieldsSeq(columns) {
			list = append(list, emptyColumn(c))
		}
		return "(SELECT " + strings.Join(list, ", ") + " LIMIT 0)"
	}
	switch name {
	case "schemata":
		return "(SELECT " + catalog + " AS catalog_name, cordwood_n.nspname AS schema_name, 'svc' AS schema_owner, " +
			nulls("default_character_set_catalog", "default_character_set_schema", "default_character_set_name", "sql_path") +
			", cordwood_s.ttl, cordwood_s.options, cordwood_s.create_time FROM pg_catalog.pg_namespace AS cordwood_n " +
			"LEFT JOIN " +
			"information_schema.schemata AS cordwood_s ON cordwood_s.schema_name = cordwood_n.nspname)"
	case "tables":
		return "(SELECT " + catalog + " AS table_catalog, cordwood_t.table_schema, cordwood_t.table_name, CASE " +
			"cordwood_t.table_type WHEN 'SYSTEM VIEW' THEN 'VIEW' ELSE cordwood_t.table_type END AS table_type, " +
			nulls("self_referencing_column_name", "reference_generation", "user_defined_type_catalog",
				"user_defined_type_schema", "user_defined_type_name") + ", 'YES' AS is_insertable_into, 'NO' AS is_typed, " +
			nulls("commit_action") + ", cordwood_t.table_id, cordwood_t.engine, cordwood_t.version, cordwood_t.shard_id, " +
			"cordwood_t.rows, cordwood_t.bytes, cordwood_t.ttl, cordwood_t.options, cordwood_t.table_comment, " +
			"cordwood_t.create_time, cordwood_t.bucket_bytes, cordwood_t.waiting_bytes " +
			"FROM information_schema.tables AS cordwood_t)"
	case "columns":
		return r.columnsTable(catalog)
	case "table_constraints":
		return "(SELECT " + catalog + " AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS " +
			"constraint_name, " +
			catalog + " AS table_catalog, n.nspname AS table_schema, t.relname AS table_name, 'PRIMARY KEY' AS " +
			"constraint_type, 'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced " + constraints + ")"
	case "key_column_usage", "constraint_column_usage":
		return "(SELECT " + catalog + " AS constraint_catalog, n.nspname AS constraint_schema, c.conname AS " +
			"constraint_name, " +
			catalog + " AS table_catalog, n.nspname AS table_schema, t.relname AS table_name, a.attname AS column_name, " +
			"CAST(a.attnum AS INTEGER) AS ordinal_position, CAST(NULL AS INTEGER) AS position_in_unique_constraint " +
			constraints + " JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.conindid)"
	case "table_privileges", "role_table_grants":
		return r.tablePrivileges(catalog)
	case "information_schema_catalog_name":
		return "(SELECT " + catalog + " AS catalog_name)"
	case "enabled_roles", "applicable_roles":
		return "(SELECT " + quote(r.s.User) + " AS role_name, " + quote(r.s.User) + " AS grantee, 'NO' AS is_grantable)"
	case "character_sets":
		return "(SELECT " + nulls("character_set_catalog", "character_set_schema") + ", 'UTF8' AS character_set_name, " +
			"'UCS' " +
			"AS character_repertoire, 'UTF8' AS form_of_use, " + catalog + " AS default_collate_catalog, 'pg_catalog' AS " +
			"default_collate_schema, 'C' AS default_collate_name)"
	case "collations":
		return "(SELECT " + catalog + " AS collation_catalog, 'pg_catalog' AS collation_schema, 'C' AS collation_name, " +
			"'NO PAD' AS pad_attribute)"
	}
	return ""
}

// tablePrivileges returns information_schema.table_privileges: the privileges of the user on tables.
func (r *rewriter) tablePrivileges(catalog string) string {
	var names []string
	for _, p := range pgcatalog.RelationPrivileges {
		if !p.Grantable && p.Set != 0 {
			names = append(names, fmt.Sprintf("(%s, %d)", quote(p.Name), p.Set))
		}
	}
	return "(SELECT " + quote(pgcatalog.Owner) + " AS grantor, " + quote(r.s.User) + " AS grantee, " + catalog +
		" AS table_catalog, cordwood_n.nspname AS table_schema, cordwood_c.relname AS table_name, cordwood_p.name AS " +
		"privilege_type, CASE WHEN (cordwood_d.grantable & cordwood_p.bit) <> 0 THEN 'YES' ELSE 'NO' END AS is_grantable, " +
		"CASE cordwood_p.name WHEN 'SELECT' THEN 'YES' ELSE 'NO' END AS with_hierarchy FROM (SELECT * FROM " +
		"pg_catalog.cordwood_privileges WHERE role IN (" + itoa(pgcatalog.CurrentRole) + ") AND kind = " +
		quote(string(pgcatalog.Relation)) + ") AS cordwood_d JOIN pg_catalog.pg_class AS cordwood_c ON " +
		"CAST(cordwood_c.oid AS VARCHAR) = cordwood_d.key AND cordwood_c.relkind IN ('r', 'v') JOIN " +
		"pg_catalog.pg_namespace AS cordwood_n ON cordwood_n.oid = cordwood_c.relnamespace JOIN (VALUES " +
		strings.Join(names, ", ") +
		") AS cordwood_p(name, bit) ON (cordwood_d.granted & cordwood_p.bit) <> 0)"
}

const constraints = "FROM pg_catalog.pg_constraint AS c JOIN pg_catalog.pg_class AS t ON t.oid = c.conrelid " +
	"JOIN pg_catalog.pg_namespace AS n ON n.oid = c.connamespace"

func nulls(names ...string) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = nullText + " AS " + n
	}
	return strings.Join(list, ", ")
}

// columnsTable returns information_schema.columns with PostgreSQL's columns first, followed by cordwood's.
func (r *rewriter) columnsTable(catalog string) string {
	const c = "cordwood_c."
	number := func(name string) string { return "CAST(NULL AS INTEGER) AS " + name }
	return "(SELECT " + catalog + " AS table_catalog, " + c + "table_schema, " + c + "table_name, " + c + "column_name, " +
		"CAST(" + c + "ordinal_position AS INTEGER) AS ordinal_position, " + c + "column_default, " +
		"upper(" + c + "is_nullable) AS is_nullable, " + formatType("cordwood_a.atttypid", "NULL") + " AS data_type, " +
		number("character_maximum_length") + ", " + number("character_octet_length") + ", " +
		"CASE cordwood_a.atttypid WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53 END AS " +
		"numeric_precision, CASE WHEN cordwood_a.atttypid IN (20, 21, 23, 700, 701) THEN 2 END AS numeric_precision_radix, " +
		"CASE WHEN cordwood_a.atttypid IN (20, 21, 23) THEN 0 END AS numeric_scale, CASE WHEN cordwood_a.atttypid = " +
		"1184 THEN " +
		"6 END AS datetime_precision, " + nulls("interval_type") + ", " + number("interval_precision") + ", " +
		nulls("character_set_catalog", "character_set_schema", "character_set_name", "collation_catalog",
			"collation_schema", "collation_name", "domain_catalog", "domain_schema", "domain_name") + ", " + catalog +
		" AS udt_catalog, 'pg_catalog' AS udt_schema, cordwood_y.typname AS udt_name, " +
		nulls("scope_catalog", "scope_schema", "scope_name") + ", " + number("maximum_cardinality") + ", CAST(" + c +
		"ordinal_position AS VARCHAR) AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity, " +
		nulls("identity_generation", "identity_start", "identity_increment", "identity_maximum", "identity_minimum") +
		", 'NO' AS identity_cycle, 'NEVER' AS is_generated, " + nulls("generation_expression") + ", 'YES' AS is_updatable, " +
		c + "column_type, " + c + "column_key, " + c + "semantic_type FROM information_schema.columns AS cordwood_c " +
		"JOIN pg_catalog.pg_namespace AS cordwood_n ON cordwood_n.nspname = " + c + "table_schema " +
		"JOIN pg_catalog.pg_class AS cordwood_t ON cordwood_t.relname = " + c + "table_name AND cordwood_t.relnamespace = " +
		"cordwood_n.oid JOIN pg_catalog.pg_attribute AS cordwood_a ON cordwood_a.attrelid = cordwood_t.oid AND " +
		"cordwood_a.attname = " + c + "column_name JOIN pg_catalog.pg_type AS cordwood_y ON cordwood_y.oid = " +
		"cordwood_a.atttypid)"
}
