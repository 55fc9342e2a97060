package statement

import (
	"reflect"
	"testing"
)

// TestRestrictions checks that a table is reported as restricted only if every use of it in the query has a
// restriction.
func TestRestrictions(t *testing.T) {
	const one = "(SELECT a FROM pg_catalog.pg_attribute WHERE attrelid IN (5, -1))"
	type found = map[string]map[string][]int64
	for _, tc := range []struct {
		sql  string
		want found
	}{
		{
			"SELECT * FROM " + one + " AS pg_attribute WHERE pg_attribute.attnum > 0",
			found{"pg_attribute": {"attrelid": {5, -1}}},
		},
		{"SELECT * FROM " + one + " AS a, " + one + " AS b", found{"pg_attribute": {"attrelid": {5, -1, 5, -1}}}},
		{"SELECT * FROM " + one + " AS a, pg_catalog.pg_attribute AS b", nil},
		{"SELECT * FROM " + one + " AS a, (SELECT * FROM pg_attribute)", nil},
		{"SELECT * FROM (SELECT a FROM pg_attribute WHERE attrelid IN (5) OR true)", nil},
		{"SELECT * FROM (SELECT a FROM pg_attribute WHERE attrelid IN (5, 'x'))", nil},
		{"SELECT * FROM (SELECT a FROM pg_attribute WHERE attrelid IN (5", nil},
		{
			"SELECT 'pg_attribute' FROM (SELECT a FROM PG_ATTRIBUTE WHERE OID IN (5)) x",
			found{"pg_attribute": {"oid": {5}}},
		},
		{"SELECT * FROM (SELECT a FROM c WHERE oid IN (5)) x, (SELECT a FROM c WHERE id IN (6)) y", nil},
	} {
		got := Restrictions(tc.sql)
		if len(got) != len(tc.want) || len(got) > 0 && !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s\n got %v\nwant %v", tc.sql, got, tc.want)
		}
	}
}
