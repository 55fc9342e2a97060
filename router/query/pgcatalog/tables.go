package pgcatalog

import (
	_ "embed"
	"strconv"
	"strings"
)

// Tables has all tables of the catalog, with the columns of PostgreSQL 15.
var Tables []*Table

// byName has the tables by name.
var byName = map[string]*Table{}

func init() { // not in the declaration, because some tables are computed from all tables
	Tables = append(tables(), emptyTables()...)
	for _, t := range Tables {
		byName[t.Name] = t
	}
}

func tables() []*Table {
	return []*Table{
		define("pg_namespace", 2615, "oid:o nspname:n nspowner:o nspacl:t[]", namespaceRows),
		define("pg_database", 1262, "oid:o datname:n datdba:o encoding:i datlocprovider:c datistemplate:b datallowconn:b "+
			"datconnlimit:i datfrozenxid:l datminmxid:l dattablespace:o datcollate:t datctype:t daticulocale:t "+
			"datcollversion:t datacl:t[]", databaseRows),
		define("pg_class", 1259, "oid:o relname:n relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o "+
			"reltablespace:o relpages:i reltuples:i relallvisible:i reltoastrelid:o relhasindex:b relisshared:b "+
			"relpersistence:c relkind:c relnatts:s relchecks:s relhasrules:b relhastriggers:b relhassubclass:b "+
			"relrowsecurity:b relforcerowsecurity:b relispopulated:b relreplident:c relispartition:b relrewrite:o "+
			"relfrozenxid:l relminmxid:l relacl:t[] reloptions:t[] relpartbound:t", classRows),
		define("pg_attribute", 1249, "attrelid:o attname:n atttypid:o attstattarget:i attlen:s attnum:s attndims:i "+
			"attcacheoff:i atttypmod:i attbyval:b attalign:c attstorage:c attcompression:c attnotnull:b atthasdef:b "+
			"atthasmissing:b attidentity:c attgenerated:c attisdropped:b attislocal:b attinhcount:i attcollation:o attacl:t[] "+
			"attoptions:t[] attfdwoptions:t[] attmissingval:t", attributeRows),
		define("pg_index", 2610, "indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:b indnullsnotdistinct:b "+
			"indisprimary:b indisexclusion:b indimmediate:b indisclustered:b indisvalid:b indcheckxmin:b indisready:b "+
			"indislive:b indisreplident:b indkey:v indcollation:V indclass:V indoption:v indexprs:t indpred:t", indexRows),
		define("pg_constraint", 2606, "oid:o conname:n connamespace:o contype:c condeferrable:b condeferred:b "+
			"convalidated:b conrelid:o contypid:o conindid:o conparentid:o confrelid:o confupdtype:c confdeltype:c "+
			"confmatchtype:c conislocal:b coninhcount:i connoinherit:b conkey:s[] confkey:s[] conpfeqop:o[] conppeqop:o[] "+
			"conffeqop:o[] confdelsetcols:s[] conexclop:o[] conbin:t", constraintRows),
		define("pg_attrdef", 2604, "oid:o adrelid:o adnum:s adbin:t", attrdefRows),
		define("pg_description", 2609, "objoid:o classoid:o objsubid:i description:t", descriptionRows),
		define("pg_type", 1247, "oid:o typname:n typnamespace:o typowner:o typlen:s typbyval:b typtype:c typcategory:c "+
			"typispreferred:b typisdefined:b typdelim:c typrelid:o typsubscript:r typelem:o typarray:o typinput:r "+
			"typoutput:r typreceive:r typsend:r typmodin:r typmodout:r typanalyze:r typalign:c typstorage:c typnotnull:b "+
			"typbasetype:o typtypmod:i typndims:i typcollation:o typdefaultbin:t typdefault:t typacl:t[]", typeRows),
		define("pg_proc", 1255, "oid:o proname:n pronamespace:o proowner:o prolang:o procost:i prorows:i provariadic:o "+
			"prosupport:r prokind:c prosecdef:b proleakproof:b proisstrict:b proretset:b provolatile:c proparallel:c "+
			"pronargs:s pronargdefaults:s prorettype:o proargtypes:V proallargtypes:o[] proargmodes:c[] proargnames:t[] "+
			"proargdefaults:t protrftypes:o[] prosrc:t probin:t prosqlbody:t proconfig:t[] proacl:t[]", procRows),
		define("pg_roles", 12000, "rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b "+
			"rolreplication:b rolconnlimit:i rolpassword:t rolvaliduntil:z rolbypassrls:b rolconfig:t[] oid:o", roleRows),
		define("pg_user", 12014, "usename:n usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t "+
			"valuntil:z useconfig:t[]", userRows),
		define("pg_authid", 1260, "oid:o rolname:n rolsuper:b rolinherit:b rolcreaterole:b rolcreatedb:b rolcanlogin:b "+
			"rolreplication:b rolbypassrls:b rolconnlimit:i rolpassword:t rolvaliduntil:z", authidRows),
		define("pg_tables", 12020, "schemaname:n tablename:n tableowner:n tablespace:n hasindexes:b hasrules:b "+
			"hastriggers:b rowsecurity:b", tableViewRows),
		define("pg_indexes", 12028, "schemaname:n tablename:n indexname:n tablespace:n indexdef:t", indexViewRows),
		define("pg_am", 2601, "oid:o amname:n amhandler:r amtype:c",
			fixedRows([]any{2, "heap", "heap_tableam_handler", "t"}, []any{403, "btree", "bthandler", "i"})),
		define("pg_language", 2612, "oid:o lanname:n lanowner:o lanispl:b lanpltrusted:b lanplcallfoid:o laninline:o "+
			"lanvalidator:o lanacl:t[]", fixedRows([]any{12, "internal", OwnerOID, false, false, 0, 0, 2246, nil},
			[]any{14, "sql", OwnerOID, false, true, 0, 0, 2248, nil})),
		define("pg_collation", 3456, "oid:o collname:n collnamespace:o collowner:o collprovider:c collisdeterministic:b "+
			"collencoding:i collcollate:t collctype:t colliculocale:t collversion:t", fixedRows(
			[]any{100, "default", 11, OwnerOID, "d", true, -1, nil, nil, nil, nil},
			[]any{950, "C", 11, OwnerOID, "c", true, -1, "C", "C", nil, nil})),
		define("pg_tablespace", 1213, "oid:o spcname:n spcowner:o spcacl:t[] spcoptions:t[]", fixedRows(
			[]any{1663, "pg_default", OwnerOID, nil, nil}, []any{1664, "pg_global", OwnerOID, nil, nil})),
		define("pg_extension", 3079, "oid:o extname:n extowner:o extnamespace:o extrelocatable:b extversion:t extconfig:o[] "+
			"extcondition:t[]", fixedRows([]any{13600, "plpgsql", OwnerOID, 11, false, "1.0", nil, nil})),
		sized(define("pg_stat_user_tables", 12150, statColumns, statRows)),
		sized(define("pg_stat_all_tables", 12151, statColumns, statRows)),
		define("cordwood_definitions", 12900, "oid:o definition:t", definitionRows),
		sized(define("cordwood_sizes", 12901, "oid:o rows:l bytes:l", sizeRows)),
		define("cordwood_privileges", 12902, "role:o kind:c key:t granted:l grantable:l", privilegeRows),
		define("pg_stat_activity", 12149, "datid:o datname:n pid:i leader_pid:i usesysid:o usename:n application_name:t "+
			"client_addr:t client_hostname:t client_port:i backend_start:z xact_start:z query_start:z state_change:z "+
			"wait_event_type:t wait_event:t state:t backend_xid:l backend_xmin:l query_id:l query:t backend_type:t",
			activityRows),
		define("pg_timezone_names", 12070, "name:t abbrev:t utc_offset:t is_dst:b", fixedRows(
			[]any{"UTC", "UTC", "00:00:00", false})),
	}
}

const statColumns = "relid:o schemaname:n relname:n seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l n_tup_ins:l " +
	"n_tup_upd:l n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l"

//go:embed empty.txt
var emptyText string

// emptyTables returns the tables of PostgreSQL 15 that have no rows here. empty.txt has a line for each, with its name,
// its OID and its columns.
func emptyTables() (list []*Table) {
	for line := range strings.Lines(emptyText) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, columns, _ := strings.Cut(rest, " ")
		oid, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			panic("empty.txt: " + err.Error()) // it is part of the program
		}
		list = append(list, define(name, oid, columns, nil))
	}
	return list
}

// define adds a table whose columns are written as name:type.
func define(name string, oid int64, columns string, rows func(*Source, func(...any)) error) *Table {
	t := &Table{Name: name, OID: oid, rows: rows}
	for c := range strings.FieldsSeq(columns) {
		column, typ, _ := strings.Cut(c, ":")
		t.Columns = append(t.Columns, Column{column, Type(typ)})
	}
	return t
}

func sized(t *Table) *Table {
	t.Sizes = true
	return t
}
