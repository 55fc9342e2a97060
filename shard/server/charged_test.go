package server

import (
	"testing"

	"cordwood/proto/shardpb"
	"cordwood/proto/turns"
)

// TestChargedDatabase: a query counts for the first database of its tables with a quota, or the first one, but not for
// a database of the server, whose tables need CPU time as well.
func TestChargedDatabase(t *testing.T) {
	s := &server{cfg: Config{Limited: func(database string) bool { return database == "app" }}}
	for _, tt := range []struct {
		tables []string
		named  string
		want   string
	}{
		{nil, "app", "app"},
		{[]string{"web", "app"}, "web", "app"},
		{[]string{"web", "shop"}, "app", "web"},
		{[]string{"information_schema", "information_schema"}, "app", "app"},
		{[]string{"pg_catalog", "web"}, "app", "web"},
		{[]string{"svc_private"}, "information_schema", "public"},
		{nil, "PG_CATALOG", "public"},
	} {
		var tables []*shardpb.QueryTable
		for _, d := range tt.tables {
			tables = append(tables, &shardpb.QueryTable{Name: &shardpb.TableName{Database: d, Name: "t"}})
		}
		if got := turns.DatabaseOf(s.forUser(t.Context(), "ann", tables, tt.named)); got != tt.want {
			t.Errorf("%q with %s: %s, want %s", tt.tables, tt.named, got, tt.want)
		}
	}
}
