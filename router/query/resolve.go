package query

import (
	"context"
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
	// caller is the caller for whom names are found; nil: nobody.
	caller *access.Caller
}

// of returns names for the caller in ctx.
func (n names) of(ctx context.Context) names {
	n.caller = access.From(ctx)
	return n
}

// by returns the caller. Without one, nothing may be read.
func (n names) by() *access.Caller {
	if n.caller == nil {
		return access.From(context.Background())
	}
	return n.caller
}

// reads returns the need of a statement that reads a table.
func reads(database, name string) access.Need {
	return access.Need{
		Privilege: access.Select, Action: "select",
		Object: access.Object{Kind: access.Table, Database: database, Name: name},
	}
}

// checkDatabase requires the database to exist. To a caller without any privilege in it, it does not.
func (n names) checkDatabase(name string) error {
	caller := n.by()
	if _, ok := n.meta.Database(name); ok && caller.SeesDatabase(name) || schema.ReservedDatabase(name) {
		return nil
	}
	var known []string
	if caller.May(access.Need{Privilege: access.Select, Action: "read names"}) {
		known = append(known, schema.InformationDatabase, schema.PrivateDatabase)
		for _, d := range n.meta.Databases() {
			if caller.SeesDatabase(d.Name) {
				known = append(known, d.Name)
			}
		}
	}
	return errs.New(errs.DatabaseNotFound, "database %q does not exist%s", name, didYouMean(name, known))
}

// table finds a table of a client's. To a caller without any privilege on it, it does not exist. Errors suggest only
// tables that the caller may read.
func (n names) table(database, name string) (*schema.Table, error) {
	caller := n.by()
	if t, ok := n.meta.Table(database, name); ok && caller.Sees(database, name) {
		return t, nil
	}
	if err := n.checkDatabase(database); err != nil {
		return nil, err
	}
	var known []string
	for _, t := range n.meta.Tables(database) {
		if caller.May(reads(database, t.Name)) {
			known = append(known, t.Name)
		}
	}
	return nil, errs.New(errs.TableNotFound, "table %s.%s does not exist%s", database, name, didYouMean(name, known))
}

// readable finds a table that the caller may read.
func (n names) readable(database, name string) (*schema.Table, error) {
	t, err := n.table(database, name)
	if err != nil {
		return nil, err
	}
	return t, n.by().Require(reads(t.Database, t.Name))
}

// writable is table for a statement that changes it. System tables are refused. The caller's rights were checked.
func (n names) writable(name statement.Name, database string) (*schema.Table, error) {
	if name.Database != "" {
		database = name.Database
	}
	if schema.ReservedDatabase(database) {
		return nil, reserved(database)
	}
	return n.table(database, name.Table)
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

// databaseNames returns the databases that the caller sees, in order, including the server's own.
func (n names) databaseNames() []string {
	list := []string{schema.InformationDatabase, schema.PrivateDatabase}
	for _, d := range n.meta.Databases() {
		if !schema.ReservedDatabase(d.Name) && n.by().SeesDatabase(d.Name) {
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

// tables returns the tables of a database that the caller may read or, if seen is set, on which the caller has any
// privilege. The list must not be changed.
func (n names) tables(database string, seen bool) []*schema.Table {
	all, caller := n.meta.Tables(database), n.by()
	if caller.Grants == nil && !schema.ReservedDatabase(database) {
		return all
	}
	var out []*schema.Table
	for _, t := range all {
		if seen && caller.Sees(database, t.Name) || !seen && caller.May(reads(database, t.Name)) {
			out = append(out, t)
		}
	}
	return out
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
