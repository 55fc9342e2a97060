package query

import (
	"cmp"

	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
)

// catalogName is the name of the only catalog.
const catalogName = "svc"

// catalogName returns the client's name for the only catalog.
func (r *Request) catalogName() string { return cmp.Or(r.Catalog, catalogName) }

// engineName is the engine that SHOW CREATE TABLE names.
const engineName = "mito"

// schemataTable is information_schema.schemata.
var schemataTable = &systemTable{
	id: 1, database: schema.InformationDatabase, needs: access.Query, name: "schemata",
	columns: []schema.Column{
		text("catalog_name"), text("schema_name"), text("ttl"), text("options"),
		moment("create_time"),
	},
	rows: func(f *facts, w *rowWriter) error {
		monitors := f.names.by().May(access.Need{Privilege: access.Monitor})
		for _, name := range f.names.databaseNames() {
			if schema.ReservedDatabase(name) {
				w.add(f.catalog, name, nil, "", nil)
				continue
			}
			if d, ok := f.meta().Database(name); ok {
				options := d.Options
				if !monitors {
					options = schema.WithoutQuotas(options) // as SHOW QUOTAS
				}
				w.add(f.catalog, name, orNull(d.Options[schema.OptionTTL]), optionsText(options), d.CreatedUnixNano)
			}
		}
		return nil
	},
}

// sizes are the stored rows and bytes of tables by id, as reported for the shards in reported.
type sizes struct {
	tables   map[uint64]size
	reported map[uint32]*shardpb.ShardStats
}

// size has the bytes in local files and memory of the leaders, in object storage, and in local files that will go
// there.
type size struct{ rows, bytes, objects, waiting int64 }

// sizes sums the reports of the shards.
func (f *facts) sizes() (sizes, error) {
	leaders, err := f.leaders(statsTables)
	if err != nil {
		return sizes{}, err
	}
	out := sizes{map[uint64]size{}, leaders}
	for _, shard := range leaders {
		for _, t := range shard.Tables {
			have := out.tables[t.TableId]
			out.tables[t.TableId] = size{
				have.rows + t.Rows, have.bytes + t.SegmentBytes + t.MemtableBytes, have.objects + t.ObjectBytes,
				have.waiting + t.WaitingBytes,
			}
		}
	}
	return out, nil
}

// of returns the sizes of a table, and false if no replica of one of its shards can be reached.
func (s sizes) of(t *schema.Table) (size, bool) {
	if s.reported != nil {
		for _, id := range t.Shards() {
			if s.reported[id] == nil {
				return size{}, false
			}
		}
	}
	return s.tables[t.ID], true
}

// tablesTable is information_schema.tables.
var tablesTable = &systemTable{
	id: 2, database: schema.InformationDatabase, needs: access.Query, name: "tables", stats: statsTables,
	columns: []schema.Column{
		text("table_catalog"), text("table_schema"), text("table_name"), text("table_type"), count("table_id"),
		text("engine"),
		number("version"), number("shard_id"), number("rows"), number("bytes"), text("ttl"), text("options"),
		text("table_comment"), moment("create_time"), number("bucket_bytes"), number("waiting_bytes"),
	},
	rows: func(f *facts, w *rowWriter) error {
		var of sizes
		if f.needSizes {
			var err error
			if of, err = f.sizes(); err != nil {
				return err
			}
		}
		withOptions := w.uses("options")
		for _, d := range f.databases() {
			for _, t := range f.tables(d.Name, true) {
				options := ""
				if withOptions {
					options = optionsText(t.Options)
				}
				ttl := t.Options[schema.OptionTTL]
				if ttl == "" {
					ttl = d.Options[schema.OptionTTL]
				}
				var rows, bytes, objects, waiting any
				// Sizes need SELECT.
				if size, known := of.of(t); known && f.names.by().May(reads(t.Database, t.Name)) {
					rows, bytes, objects, waiting = size.rows, size.bytes, size.objects, size.waiting
				}
				w.add(f.catalog, t.Database, t.Name, baseTable, t.ID, engineName, t.Version, t.Writable().ShardID, rows, bytes,
					orNull(ttl), options, orNull(t.Options[schema.OptionComment]), t.CreatedUnixNano, objects, waiting)
			}
		}
		for _, t := range f.system {
			def := t.schema()
			w.add(f.catalog, t.database, t.name, systemView, def.ID, nil, def.Version, nil, nil, nil, nil, "", nil, nil,
				nil, nil)
		}
		return nil
	},
}

// columnsTable is information_schema.columns.
var columnsTable = &systemTable{
	id: 3, database: schema.InformationDatabase, needs: access.Query, name: "columns",
	columns: []schema.Column{
		text("table_catalog"), text("table_schema"), text("table_name"), text("column_name"), number("ordinal_position"),
		text("column_default"), text("is_nullable"), text("data_type"), text("column_type"), text("column_key"),
		text("semantic_type"),
	},
	rows: func(f *facts, w *rowWriter) error {
		for _, d := range f.databases() {
			for _, t := range f.tables(d.Name, false) {
				addColumns(w, f.catalog, t)
			}
		}
		for _, t := range f.system {
			addColumns(w, f.catalog, t.schema())
		}
		return nil
	},
}

func addColumns(w *rowWriter, catalog string, t *schema.Table) {
	for i, c := range t.Columns {
		w.add(catalog, t.Database, t.Name, c.Name, i+1, orNull(defaultText(c)), nullText(c),
			c.Type.String(), c.Type.SQL(), columnKey(c), c.Semantic.String())
	}
}
