package cluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// TestShardRemove checks that the command starts a removal, or with --plan only shows the plan.
func TestShardRemove(t *testing.T) {
	var asked []string
	removal := clusterapi.Removal{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		answer := clusterapi.Answer{Operation: &clusterapi.Operation{ID: 7, Kind: "shard-remove", Subject: "shard 3"}}
		if strings.Contains(string(body), `"plan":true`) {
			answer = clusterapi.Answer{Removal: &removal}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	full := clusterapi.Removal{
		Shard: 3, Bytes: 5 << 20, Waits: []string{"the keys of requests are remembered for 12m"},
		Tables: []clusterapi.TableMove{
			{Table: "public.app", Bytes: 5 << 20, From: []uint32{3, 1}, To: []uint32{2}},
			{Table: "public.none", From: []uint32{3}},
		},
	}
	for _, c := range []struct {
		args, want string
		removal    clusterapi.Removal
		asks       string
		status     int
	}{
		{"shard remove 3", "operation 7: shard-remove shard 3\n", full, `{"kind":"shard-remove","shard":3}`, cli.ExitOK},
		{
			"shard remove 3 --plan",
			"TABLE        BYTES    FROM  TO\npublic.app   5.0 MiB  3,1   2\npublic.none  0 B      3     -\n\n2 tables, " +
				"5.0 MiB to copy\nhas to wait: the keys",
			full, `{"kind":"shard-remove","shard":3,"plan":true}`, cli.ExitOK,
		},
		{
			"shard remove 3 --plan", "shard 3 has no tables: nothing is copied\n",
			clusterapi.Removal{Shard: 3},
			`{"kind":"shard-remove","shard":3,"plan":true}`, cli.ExitOK,
		},
		{
			"shard remove 3 --plan -o json", `"table": "public.app"`, full,
			`{"kind":"shard-remove","shard":3,"plan":true}`, cli.ExitOK,
		},
		{"shard remove 3 --plan --wait", "remove it, or remove --wait", full, "", cli.ExitUsage},
		{"shard remove 3 -o json", "--output json needs --plan", full, "", cli.ExitUsage},
		{"shard remove", "want SHARD, got nothing", full, "", cli.ExitUsage},
		{"shard remove all", `"all" is not a shard`, full, "", cli.ExitUsage},
	} {
		asked, removal = nil, c.removal
		out, errOut, status := runCluster(append(strings.Fields(c.args), "--server", s.URL)...)
		if got := strings.Join(asked, "\n"); status != c.status || got != c.asks || !strings.Contains(out+errOut, c.want) {
			t.Errorf("%s: status %d, asked %q\n%s%s\nwant %q", c.args, status, got, out, errOut, c.want)
		}
	}
}
