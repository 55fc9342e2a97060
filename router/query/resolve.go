package query

import (
	"math"
	"slices"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/proto/nearest"
	"cordwood/proto/schema"
	"cordwood/proto/schemapb"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// names finds databases and tables, and their settings, in this node's copy of the metadata.
type names struct {
	meta Meta
	// now is the clock for the expiry of rows.
	now func() time.Time
}

// mayReadNames reports whether errors may suggest names that are not in the statement. A user who may only write
// must not learn names.
func mayReadNames(caller *access.Caller) bool {
	return caller.May(access.Need{Privilege: access.Select, Action: "read names"})
}

// checkDatabase requires the database to exist.
func (n names) checkDatabase(name string) error { return n.findDatabase(name, true) }

// findDatabase is checkDatabase, with suggestions if the sender may get them.
func (n names) findDatabase(name string, suggest bool) error {
	if _, ok := n.meta.Database(name); ok || schema.ReservedDatabase(name) {
		return nil
	}
	var known []string
	if suggest {
		known = append(known, schema.InformationDatabase, schema.PrivateDatabase)
		for _, d := range n.meta.Databases() {
			known = append(known, d.Name)
		}
	}
	return errs.New(errs.DatabaseNotFound, "database %q does not exist%s", name, didYouMean(name, known))
}

// table finds a table of a client's.
func (n names) table(database, name string) (*schema.Table, error) {
	return n.findTable(database, name, true)
}

// findTable is table, with suggestions if the sender may get them.
func (n names) findTable(database, name string, suggest bool) (*schema.Table, error) {
	if t, ok := n.meta.Table(database, name); ok {
		return t, nil
	}
	if err := n.findDatabase(database, suggest); err != nil {
		return nil, err
	}
	var known []string
	if suggest {
		for _, t := range n.meta.Tables(database) {
			known = append(known, t.Name)
		}
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s", database, name, didYouMean(name, known))
}

// writable is table for a statement that changes it. System tables are refused.
func (n names) writable(name statement.Name, database string) (*schema.Table, error) {
	return n.findWritable(name, database, true)
}

// findWritable is writable, with suggestions if the sender may get them.
func (n names) findWritable(name statement.Name, database string, suggest bool) (*schema.Table, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return nil, reserved(database)
	}
	return n.findTable(database, name.Table, suggest)
}

func reserved(database string) error {
	return errs.New(errs.Unsupported, "database %q belongs to the server and cannot be changed", database)
}

// didYouMean returns the end of a sentence about a name that does not exist.
func didYouMean(name string, candidates []string) string {
	like := nearest.Name(name, candidates)
	switch {
	case like == "":
		return ""
	case strings.EqualFold(like, name):
		return `; did you mean "` + like + `"? Names are case-sensitive`
	}
	return `; did you mean "` + like + `"?`
}

// databaseNames returns all databases in order, including the server's own.
func (n names) databaseNames() []string {
	list := []string{schema.InformationDatabase, schema.PrivateDatabase}
	for _, d := range n.meta.Databases() {
		if !schema.ReservedDatabase(d.Name) {
			list = append(list, d.Name)
		}
	}
	slices.Sort(list)
	return list
}

// expiredBefore returns the time index before which rows of the table have expired.
func (n names) expiredBefore(t *schema.Table) (int64, bool) {
	ttl := n.ttl(t)
	if ttl.Instant {
		return math.MaxInt64, true // it also applies to rows written before it was set
	}
	return ttl.ExpiredBefore(n.now(), t.TimeIndex().Type)
}

// ttl returns the table's own ttl or, if it has none, its database's.
func (n names) ttl(t *schema.Table) schema.TTL {
	return schema.EffectiveTTL(t.Options[schema.OptionTTL], n.databaseTTL(t.Database))
}

// databaseTTL returns the text of a database's ttl, or "".
func (n names) databaseTTL(name string) string {
	if d, ok := n.meta.Database(name); ok {
		return d.Options[schema.OptionTTL]
	}
	return ""
}

// queryTable describes a table for a request to a shard node, with all shards that may have rows of it, also from
// earlier placements.
func (n names) queryTable(name *shardpb.TableName, t *schema.Table, def *schemapb.Table) *shardpb.QueryTable {
	shards := t.Shards()
	qt := &shardpb.QueryTable{Name: name, Table: def, ShardId: shards[0], MoreShards: shards[1:]}
	if before, ok := n.expiredBefore(t); ok {
		qt.ExpiredBefore = &before
	}
	return qt
}

// internalTable finds a stored table in a database of the server, such as svc_private.rejects. It can be read like
// any table but not changed.
func (n names) internalTable(database, name string) (*schema.Table, bool) {
	if !strings.EqualFold(database, schema.PrivateDatabase) {
		return nil, false
	}
	return n.meta.Table(schema.PrivateDatabase, strings.ToLower(name))
}
