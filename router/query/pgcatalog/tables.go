package pgcatalog

import "strings"

// Tables has all tables of the catalog, with the columns of PostgreSQL 15.
var Tables []*Table

// byName has the tables by name.
var byName = map[string]*Table{}

func init() { // not in the declaration, because some tables are computed from all tables
	Tables = tables()
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

		// The following tables are empty.
		define("pg_inherits", 2611, "inhrelid:o inhparent:o inhseqno:i inhdetachpending:b", nil),
		define("pg_policy", 3256, "oid:o polname:n polrelid:o polcmd:c polpermissive:b polroles:o[] polqual:t "+
			"polwithcheck:t", nil),
		define("pg_policies", 12034, "schemaname:n tablename:n policyname:n permissive:t roles:t[] cmd:t qual:t with_check:t",
			nil),
		define("pg_enum", 3501, "oid:o enumtypid:o enumsortorder:i enumlabel:n", nil),
		define("pg_range", 3541, "rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:r "+
			"rngsubdiff:r", nil),
		define("pg_views", 12036, "schemaname:n viewname:n viewowner:n definition:t", nil),
		define("pg_matviews", 12037, "schemaname:n matviewname:n matviewowner:n tablespace:n hasindexes:b ispopulated:b "+
			"definition:t", nil),
		define("pg_sequence", 2224, "seqrelid:o seqtypid:o seqstart:l seqincrement:l seqmax:l seqmin:l seqcache:l "+
			"seqcycle:b", nil),
		define("pg_sequences", 12038, "schemaname:n sequencename:n sequenceowner:n data_type:t start_value:l min_value:l "+
			"max_value:l increment_by:l cycle:b cache_size:l last_value:l", nil),
		define("pg_operator", 2617, "oid:o oprname:n oprnamespace:o oprowner:o oprkind:c oprcanmerge:b oprcanhash:b "+
			"oprleft:o oprright:o oprresult:o oprcom:o oprnegate:o oprcode:o oprrest:r oprjoin:r", nil),
		define("pg_opclass", 2616, "oid:o opcmethod:o opcname:n opcnamespace:o opcowner:o opcfamily:o opcintype:o "+
			"opcdefault:b opckeytype:o", nil),
		define("pg_opfamily", 2753, "oid:o opfmethod:o opfname:n opfnamespace:o opfowner:o", nil),
		define("pg_cast", 2605, "oid:o castsource:o casttarget:o castfunc:o castcontext:c castmethod:c", nil),
		define("pg_aggregate", 2600, "aggfnoid:o aggkind:c aggnumdirectargs:s aggtransfn:r aggfinalfn:r", nil),
		define("pg_rewrite", 2618, "oid:o rulename:n ev_class:o ev_type:c ev_enabled:c is_instead:b ev_qual:t ev_action:t",
			nil),
		define("pg_rules", 12035, "schemaname:n tablename:n rulename:n definition:t", nil),
		define("pg_trigger", 2620, "oid:o tgrelid:o tgparentid:o tgname:n tgfoid:o tgtype:s tgenabled:c tgisinternal:b "+
			"tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:b tginitdeferred:b tgnargs:s tgattr:v tgargs:t "+
			"tgqual:t tgoldtable:n tgnewtable:n", nil),
		define("pg_auth_members", 1261, "roleid:o member:o grantor:o admin_option:b", nil),
		define("pg_group", 12015, "groname:n grosysid:o grolist:o[]", nil),
		define("pg_shadow", 12013, "usename:n usesysid:o usecreatedb:b usesuper:b userepl:b usebypassrls:b passwd:t "+
			"valuntil:z useconfig:t[]", nil),
		define("pg_db_role_setting", 2964, "setdatabase:o setrole:o setconfig:t[]", nil),
		define("pg_shdescription", 2396, "objoid:o classoid:o description:t", nil),
		define("pg_seclabel", 3596, "objoid:o classoid:o objsubid:i provider:t label:t", nil),
		define("pg_default_acl", 826, "oid:o defaclrole:o defaclnamespace:o defaclobjtype:c defaclacl:t[]", nil),
		define("pg_largeobject_metadata", 2995, "oid:o lomowner:o lomacl:t[]", nil),
		define("pg_depend", 2608, "classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:c", nil),
		define("pg_shdepend", 1214, "dbid:o classid:o objid:o objsubid:i refclassid:o refobjid:o deptype:c", nil),
		define("pg_publication", 6104, "oid:o pubname:n pubowner:o puballtables:b pubinsert:b pubupdate:b pubdelete:b "+
			"pubtruncate:b pubviaroot:b", nil),
		define("pg_publication_rel", 6106, "oid:o prpubid:o prrelid:o prqual:t prattrs:v", nil),
		define("pg_publication_namespace", 6237, "oid:o pnpubid:o pnnspid:o", nil),
		define("pg_publication_tables", 12052, "pubname:n schemaname:n tablename:n attnames:t[] rowfilter:t", nil),
		define("pg_subscription", 6100, "oid:o subdbid:o subname:n subowner:o subenabled:b", nil),
		define("pg_foreign_data_wrapper", 2328, "oid:o fdwname:n fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:t[] "+
			"fdwoptions:t[]", nil),
		define("pg_foreign_server", 1417, "oid:o srvname:n srvowner:o srvfdw:o srvtype:t srvversion:t srvacl:t[] "+
			"srvoptions:t[]", nil),
		define("pg_foreign_table", 3118, "ftrelid:o ftserver:o ftoptions:t[]", nil),
		define("pg_user_mapping", 1418, "oid:o umuser:o umserver:o umoptions:t[]", nil),
		define("pg_statistic_ext", 3381, "oid:o stxrelid:o stxname:n stxnamespace:o stxowner:o stxstattarget:i stxkeys:v "+
			"stxkind:c[] stxexprs:t", nil),
		define("pg_partitioned_table", 3350, "partrelid:o partstrat:c partnatts:s partdefid:o partattrs:v partclass:V "+
			"partcollation:V partexprs:t", nil),
		define("pg_event_trigger", 3466, "oid:o evtname:n evtevent:n evtowner:o evtfoid:o evtenabled:c evttags:t[]", nil),
		define("pg_conversion", 2607, "oid:o conname:n connamespace:o conowner:o conforencoding:i contoencoding:i "+
			"conproc:r condefault:b", nil),
		define("pg_ts_config", 3602, "oid:o cfgname:n cfgnamespace:o cfgowner:o cfgparser:o", nil),
		define("pg_ts_dict", 3600, "oid:o dictname:n dictnamespace:o dictowner:o dicttemplate:o dictinitoption:t", nil),
		define("pg_locks", 12142, "locktype:t database:o relation:o pid:i mode:t granted:b", nil),
		define("pg_prepared_xacts", 12044, "transaction:l gid:t prepared:z owner:n database:n", nil),
		define("pg_available_extensions", 12046, "name:n default_version:t installed_version:t comment:t", nil),
		define("pg_cursors", 12043, "name:t statement:t is_holdable:b is_binary:b is_scrollable:b creation_time:z", nil),
		define("pg_prepared_statements", 12045, "name:t statement:t prepare_time:z parameter_types:t[] from_sql:b", nil),
		define("pg_stat_activity", 12149, "datid:o datname:n pid:i leader_pid:i usesysid:o usename:n application_name:t "+
			"client_addr:t client_hostname:t client_port:i backend_start:z xact_start:z query_start:z state_change:z "+
			"wait_event_type:t wait_event:t state:t backend_xid:l backend_xmin:l query_id:l query:t backend_type:t",
			activityRows),
		define("pg_stat_database", 12170, "datid:o datname:n numbackends:i xact_commit:l xact_rollback:l", nil),
		define("pg_stat_replication", 12158, "pid:i usesysid:o usename:n application_name:t state:t", nil),
		define("pg_stat_user_indexes", 12156, "relid:o indexrelid:o schemaname:n relname:n indexrelname:n idx_scan:l", nil),
		define("pg_timezone_names", 12070, "name:t abbrev:t utc_offset:t is_dst:b", fixedRows(
			[]any{"UTC", "UTC", "00:00:00", false})),
	}
}

const statColumns = "relid:o schemaname:n relname:n seq_scan:l seq_tup_read:l idx_scan:l idx_tup_fetch:l n_tup_ins:l " +
	"n_tup_upd:l n_tup_del:l n_tup_hot_upd:l n_live_tup:l n_dead_tup:l"

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
