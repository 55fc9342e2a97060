package query

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
	"cordwood/proto/schema"
	"cordwood/proto/shardpb"
	"cordwood/router/access"
	"cordwood/router/query/statement"
)

// Statements about the quotas of databases. Operators set them, so a user who may alter a database cannot raise them.

// quotaRow is the right for ALTER DATABASE if it changes quotas.
var quotaRow = logged(access.Operate, "change quotas of", access.Database)

// quotaKey returns the key of an option in the form in which quotas are stored.
func quotaKey(key string) string { return strings.ToLower(key) }

// changesQuotas reports whether the statement changes a quota.
func changesQuotas(st *statement.AlterDatabase) bool {
	for _, o := range st.Set {
		if schema.IsQuota(quotaKey(o.Key)) {
			return true
		}
	}
	for _, key := range st.Unset {
		if schema.IsQuota(quotaKey(key)) {
			return true
		}
	}
	return false
}

// alterQuotas returns the command of ALTER DATABASE for quotas. Operators need no right on the database itself.
func (d definer) alterQuotas(st *statement.AlterDatabase) (*metapb.Command, error) {
	if _, ok := d.meta.Database(st.Database); !ok {
		return nil, errs.New(errs.DatabaseNotFound, "Database `%s` not found", st.Database)
	}
	a := &metapb.AlterDatabase{Name: st.Database}
	for _, o := range st.Set {
		key := quotaKey(o.Key)
		if !schema.IsQuota(key) {
			return nil, mixedQuotas(o.Key)
		}
		if _, twice := a.Set[key]; twice {
			return nil, errs.New(errs.InvalidArguments, "option %s is given twice", key)
		}
		value, err := schema.NormalizeQuota(key, o.Value)
		if err != nil {
			return nil, err
		}
		if a.Set == nil {
			a.Set = map[string]string{}
		}
		a.Set[key] = value
	}
	for _, key := range st.Unset {
		if !schema.IsQuota(quotaKey(key)) {
			return nil, mixedQuotas(key)
		}
		if err := schema.CheckQuota(quotaKey(key)); err != nil {
			return nil, err
		}
		a.Unset = append(a.Unset, quotaKey(key))
	}
	return &metapb.Command{Op: &metapb.Command_AlterDatabase{AlterDatabase: a}}, nil
}

// payer returns the database for which a query of the caller counts if it reads no tables of users. That is the one
// that the request names if the caller has a privilege in it. Otherwise it is the caller's default database, or the
// first one with a privilege. Without this rule, users could use up the quotas of databases on which they have no
// privilege, and avoid those of their own databases.
func (r *reader) payer(caller *access.Caller, named string) string {
	if caller.Grants == nil {
		return schema.Charged(named)
	}
	for _, d := range []string{named, caller.Database, schema.DefaultDatabase} {
		if d != "" && !schema.ReservedDatabase(d) && caller.Grants.InDatabase(d) != 0 {
			return d
		}
	}
	first := ""
	for _, d := range r.meta.Databases() {
		if (first == "" || d.Name < first) && caller.Grants.InDatabase(d.Name) != 0 {
			first = d.Name
		}
	}
	return cmp.Or(first, schema.Charged(named))
}

// charged returns the tables whose databases a query counts for: those of users. If there is none, because the query
// reads only generate_series or system tables, for example, it counts for the database payer.
func charged(tables []*shardpb.TableName, payer string) (out []*shardpb.TableName) {
	for _, t := range tables {
		if !schema.ReservedDatabase(t.GetDatabase()) {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		out = []*shardpb.TableName{{Database: payer}}
	}
	return out
}

// ready returns an error if the queries of the database of a table have used up its CPU time.
func (r *reader) ready(tables []*shardpb.TableName) error {
	if r.quotas == nil {
		return nil
	}
	asked := ""
	for _, t := range tables {
		if d := t.GetDatabase(); d != asked {
			asked = d
			if err := r.quotas.QueryReady(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// limitTime returns a context with the shortest time limit that the databases of the tables have for a query. stop ends
// it, and returns the error for the query.
func (r *reader) limitTime(
	ctx context.Context, tables []*shardpb.TableName,
) (_ context.Context, stop func(error) error) {
	shortest, database := time.Duration(0), ""
	for _, t := range tables {
		if r.quotas == nil || t.GetDatabase() == database {
			continue
		}
		if limit, ok := r.quotas.QueryTime(t.GetDatabase()); ok && (database == "" || limit < shortest) {
			shortest, database = limit, t.GetDatabase()
		}
	}
	if database == "" {
		return ctx, func(err error) error { return err }
	}
	over := errs.New(errs.QueryTimeout, "the query was cancelled after %s, the longest that a query of database %s may "+
		"take (%s); request less, or ask an operator for a higher quota", shortest, database, schema.QuotaDuration).
		WithStatus(http.StatusBadRequest) // it would take as long again
	over.Quota = &errs.Quota{
		Database: database, Name: schema.QuotaDuration, Limit: uint64(shortest.Milliseconds()), //nolint:gosec // positive
		Value: uint64(shortest.Milliseconds()), Unit: "ms", //nolint:gosec // positive
	}
	limited, cancel := context.WithTimeoutCause(ctx, shortest, over)
	return limited, func(err error) error {
		defer cancel()
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), over) {
			return over
		}
		return err
	}
}

// mixedQuotas returns the error for a statement that changes quotas and another option. They need different rights.
func mixedQuotas(key string) error {
	return errs.New(errs.InvalidArguments, "option %.80q cannot be changed together with quotas; use two statements", key)
}

// showQuotas lists the quotas of all databases, and how much of them is used.
func (d describer) showQuotas(st *statement.ShowQuotas, _ string) (array.RecordReader, error) {
	var rows [][]string
	d.eachQuota(func(database, quota, limit string, value uint64, known bool) {
		if !like(st.Like, database) {
			return
		}
		text := ""
		if known {
			text = strconv.FormatUint(value, 10)
		}
		rows = append(rows, []string{database, quota, limit, text})
	})
	return textRows([]string{"Database", "Quota", "Limit", "Value"}, page(rows, st.Page)), nil
}

// eachQuota calls each for each quota of all databases, with its present value if that is known. A limit that is no
// number is a duration.
func (d describer) eachQuota(each func(database, quota, limit string, value uint64, known bool)) {
	for _, def := range d.meta.Databases() {
		for _, key := range schema.QuotaNames() {
			if limit, ok := def.GetOptions()[key]; ok {
				value, known := d.quotaValue(def.GetName(), key)
				each(def.GetName(), key, limit, value, known)
			}
		}
	}
}

// quotaValue returns the present value of a quota. The value of quota.columns is the number of columns of the table
// that has the most.
func (d describer) quotaValue(database, key string) (value uint64, known bool) {
	switch key {
	case schema.QuotaTables:
		return uint64(len(d.meta.Tables(database))), true
	case schema.QuotaColumns:
		most := 0
		for _, t := range d.meta.Tables(database) {
			most = max(most, len(t.Columns))
		}
		return uint64(most), true //nolint:gosec // it is not negative
	}
	if d.quotas == nil {
		return 0, false
	}
	return d.quotas.Value(database, key)
}

// quotasTable is svc_private.quotas: the quotas of all databases, and how much of them is used.
var quotasTable = &systemTable{
	id: 11, database: schema.PrivateDatabase, name: "quotas", needs: access.Monitor,
	columns: []schema.Column{
		text("database_name"), text("quota"), count("limit_value"), count("value"), text("unit"),
	},
	rows: func(f *facts, w *rowWriter) error {
		describer{f.names, f.quotas}.eachQuota(func(database, quota, limit string, value uint64, known bool) {
			n, err := strconv.ParseUint(limit, 10, 64)
			present, unit := any(nil), schema.QuotaUnit(quota)
			if d, fault := time.ParseDuration(limit); err != nil && fault == nil {
				n, unit = uint64(d.Seconds()), "seconds" //nolint:gosec // it is positive
			}
			if known {
				present = value
			}
			w.add(database, quota, n, present, unit)
		})
		return nil
	},
}
