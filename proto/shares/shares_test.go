package shares

import (
	"slices"
	"testing"
	"time"

	"cordwood/proto/metapb"
	"cordwood/proto/schema"
)

// TestSlots divides numbers of queries. The slots of a router are whole, follow its queries, and never include slots
// that others still use.
func TestSlots(t *testing.T) {
	for _, tt := range []struct {
		name  string
		limit uint64
		uses  []use
		want  []uint64
	}{
		{"nothing runs", 5, []use{{}, {}, {}}, []uint64{2, 2, 1}},
		{"one router has all", 5, []use{{5, 3, 0}, {}, {}}, []uint64{5, 0, 0}},
		{"another one begins", 4, []use{{4, 0, 4}, {0, 4, 0}}, []uint64{2, 0}},
		{"a slot is free", 4, []use{{3, 0, 3}, {0, 4, 0}}, []uint64{2, 1}},
		{"a slot that another one may use", 4, []use{{1, 0, 3}, {0, 4, 1}}, []uint64{1, 1}},
		{"fewer slots than routers", 1, []use{{}, {0, 1, 0}, {}}, []uint64{0, 1, 0}},
		{"none", 0, []use{{}, {0, 1, 0}}, []uint64{0, 0}},
	} {
		if got := slots(tt.limit, tt.uses); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestSlotsInUse: a router that was told that it may use a slot has it until it reports twice more, because what it
// began after a report is not in the report.
func TestSlotsInUse(t *testing.T) {
	var r Reports
	quota := Quota{"app", schema.QuotaTails}
	share := func(at time.Duration, node string, running, waiting float64) float64 {
		return r.Divide(1, time.Unix(0, int64(at)), &metapb.ShareQuotasRequest{NodeId: node, Uses: []*metapb.QuotaUse{
			{Database: "app", Name: schema.QuotaTails, Admitted: running, Refused: waiting},
		}}, map[Quota]uint64{quota: 2}).Shares[0].Share
	}
	for i, step := range []struct {
		at               time.Duration
		node             string
		running, waiting float64
		want             float64
	}{
		{0, "a", 0, 2, 1}, // others may have tails and not have reported yet
		{Valid - 1, "a", 0, 0, 1},
		{Valid, "a", 0, 0, 2},
		{Valid, "b", 0, 1, 0},
		{Valid, "a", 1, 0, 1},
		{Valid, "b", 0, 1, 0}, // a may have begun a second one before the last answer
		{Valid, "a", 1, 0, 1},
		{Valid, "b", 0, 1, 1},
		{Valid, "a", 1, 1, 1}, // b may use its slot, and has not reported it yet
		{Valid, "b", 1, 0, 1},
		{Valid, "a", 1, 1, 1},
	} {
		if got := share(step.at, step.node, step.running, step.waiting); got != step.want {
			t.Errorf("step %d: %s gets %v, want %v", i, step.node, got, step.want)
		}
	}
}

// TestReports: routers that no longer report, and reports of an earlier term, do not count.
func TestReports(t *testing.T) {
	var r Reports
	quota := Quota{"app", schema.QuotaRows}
	share := func(term uint64, now int64, node string, sent float64) (float64, uint32) {
		resp := r.Divide(term, time.Unix(now, 0), &metapb.ShareQuotasRequest{NodeId: node, Uses: []*metapb.QuotaUse{
			{Database: "app", Name: schema.QuotaRows, Admitted: sent},
		}}, map[Quota]uint64{quota: 100})
		return resp.Shares[0].Share, resp.Routers
	}
	for _, tt := range []struct {
		term    uint64
		now     int64
		node    string
		sent    float64
		want    float64
		routers uint32
	}{
		{1, 0, "a", 10, 100, 1},
		{1, 0, "b", 30, 73.75, 2},
		{1, 1, "a", 10, 26.25, 2},
		{1, 3, "b", 0, 2.5, 2},
		{1, 6, "a", 0, 100, 1},
		{2, 6, "b", 1, 100, 1},
	} {
		if got, n := share(tt.term, tt.now, tt.node, tt.sent); got != tt.want || n != tt.routers {
			t.Errorf("%+v: %v of %d routers", tt, got, n)
		}
	}
	if err := Check(&metapb.ShareQuotasRequest{Uses: make([]*metapb.QuotaUse, maxUses+1)}); err == nil {
		t.Error("a report of any size is accepted")
	}
}
