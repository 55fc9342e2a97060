package backup

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cordwood/proto/backuppb"
	"cordwood/proto/metapb"
	"cordwood/proto/schemapb"
)

// TestInTheWay checks which existing tables block a restore. A table of the same name always does; other tables of a
// database do only if the whole database is restored.
func TestInTheWay(t *testing.T) {
	table := func(database, name string) *schemapb.Table { return &schemapb.Table{Database: database, Name: name} }
	for _, tt := range []struct {
		name string
		cfg  RestoreConfig
		have []*schemapb.Table
		want []string
		says string
	}{
		{
			"everything",
			RestoreConfig{},
			[]*schemapb.Table{table("public", "other"), table("else", "x")},
			[]string{"public.other"},
			"the cluster is not empty",
		},
		{
			"everything, and a table of the same name",
			RestoreConfig{},
			[]*schemapb.Table{table("public", "mine")},
			[]string{"public.mine"},
			"tables of the same name",
		},
		{
			"a table",
			RestoreConfig{Tables: []string{"mine"}},
			[]*schemapb.Table{table("public", "other"), table("web", "access")},
			nil, "",
		},
		{"a table that exists", RestoreConfig{Tables: []string{"mine"}}, []*schemapb.Table{
			table("public", "other"),
			table("public", "mine"),
		}, []string{"public.mine"}, "tables of the same name"},
		{"a database", RestoreConfig{Databases: []string{"web"}}, []*schemapb.Table{
			table("public", "other"),
			table("web", "old"),
		}, []string{"web.old"}, "the cluster is not empty"},
		{
			"a database and a table",
			RestoreConfig{Databases: []string{"web"}, Tables: []string{"mine"}},
			[]*schemapb.Table{table("public", "other"), table("web", "old")},
			[]string{"web.old"},
			"the cluster is not empty",
		},
		{
			"one database of several",
			RestoreConfig{Databases: []string{"web"}, Existing: Add},
			[]*schemapb.Table{table("web", "old")},
			nil, "",
		},
	} {
		s := &restoration{
			cfg: tt.cfg, b: &backuppb.Backup{Id: "b"}, out: &RestoreResult{}, byID: map[uint64]*restoredTable{},
			databases: []*schemapb.Database{{Name: "public"}, {Name: "web"}},
			options:   map[string]map[string]string{"public": nil, "web": nil},
		}
		chosen, err := s.choose([]*schemapb.Table{table("public", "mine"), table("web", "access")})
		if err != nil {
			t.Fatal(err)
		}
		err = s.compare(chosen, &metapb.WatchResponse{Tables: tt.have})
		var got *InTheWayError
		if errors.As(err, &got); tt.want == nil {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if got == nil || !slices.Equal(got.Tables, tt.want) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// TestLikeTable checks the suggestions for wrong names of tables.
func TestLikeTable(t *testing.T) {
	own := []*schemapb.Table{
		{Database: "public", Name: "big"}, {Database: "public", Name: "access"}, {Database: "web", Name: "clicks"},
	}
	for name, want := range map[string]string{
		"bgi": `did you mean "big"?`, "clicks": `did you mean "web.clicks"?`, "web.clikcs": `did you mean "web.clicks"?`,
		"nothing": "name it as DATABASE.TABLE",
	} {
		if got := likeTable(own, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
