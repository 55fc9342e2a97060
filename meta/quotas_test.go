package meta

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// TestQuotaIsExact: if many routers create tables of a database at once, exactly as many succeed as its quota allows.
// Tables of another database, which the leader combines with them in one command, are not affected.
func TestQuotaIsExact(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := mustOpen(t, Config{Registerer: reg})
	for _, line := range []string{
		"bootstrap c1 shards=2", "create-db web", "create-db other", "alter-db web quota.tables=10",
	} {
		propose(t, m, line)
	}
	const tables = 40
	var made, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range tables {
		for _, database := range []string{"web", "other"} {
			cmd := command(t, fmt.Sprintf("ensure %s.t%d time:ts9!", database, i))
			wg.Go(func() {
				resp, err := m.Propose(context.Background(), &metapb.ProposeRequest{Command: cmd})
				switch {
				case err != nil:
					t.Errorf("%s: %v", database, err)
				case database == "other" && resp.Result.ErrorCode != 0:
					t.Errorf("a table of the other database is refused: %s", resp.Result.ErrorMessage)
				case database == "other":
				case resp.Result.ErrorCode == 0:
					made.Add(1)
				case errs.Code(resp.Result.ErrorCode) == errs.RateLimited:
					refused.Add(1)
				default:
					t.Errorf("%s: %s", database, resp.Result.ErrorMessage)
				}
			})
		}
	}
	wg.Wait()
	if made.Load() != 10 || refused.Load() != tables-10 {
		t.Errorf("%d tables were created and %d refused, with a quota of 10", made.Load(), refused.Load())
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "cordwood_meta_quota_refusals_total" {
			if got := f.GetMetric()[0].GetCounter().GetValue(); got != tables-10 {
				t.Errorf("the metric has %v refusals", got)
			}
			return
		}
	}
	t.Error("there is no metric of refusals")
}

// TestQuotasWait: quotas are refused while there may be members of the metadata group that do not know them.
func TestQuotasWait(t *testing.T) {
	cmd := &metapb.Command{Op: &metapb.Command_AlterDatabase{AlterDatabase: &metapb.AlterDatabase{
		Name: "web", Set: map[string]string{"quota.tables": "1"},
	}}}
	if err := checkQuotas(cmd, metapb.ProtocolQuotas-1); errs.CodeOf(err) != errs.Unsupported ||
		!strings.Contains(err.Error(), "quotas need protocol version 14") {
		t.Errorf("before: %v", err)
	}
	if err := checkQuotas(cmd, metapb.ProtocolQuotas); err != nil {
		t.Error(err)
	}
	cmd.GetAlterDatabase().Set = map[string]string{"quota.query_cpu": "1"}
	if err := checkQuotas(cmd, metapb.ProtocolQueryQuotas-1); errs.CodeOf(err) != errs.Unsupported {
		t.Errorf("before CPU time: %v", err)
	}
	cmd.GetAlterDatabase().Set = map[string]string{"quota.tails": "1"}
	if err := checkQuotas(cmd, metapb.ProtocolTailQuotas-1); errs.CodeOf(err) != errs.Unsupported {
		t.Errorf("before tails: %v", err)
	}
}
