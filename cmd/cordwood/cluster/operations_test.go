package cluster

import (
	"strings"
	"testing"
	"time"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// TestReasonsOfSeveralLines checks that an error of several lines takes one line in the list, and is
// printed in full in the details of an operation.
func TestReasonsOfSeveralLines(t *testing.T) {
	reason := "shard 3 copies its rows\nask node n4 (127.0.0.1:4104): refused\n" + strings.Repeat("x", 300)
	op := clusterapi.Operation{
		ID: 7, Kind: "table-move", Subject: "table public.m", State: "running", Step: "copy", Attempt: 2,
		Reason: reason, By: "ann", Created: time.Unix(1e9, 0).UTC(),
	}
	for _, states := range []bool{false, true} {
		var table strings.Builder
		operationTable(&table, []clusterapi.Operation{op}, states, false)
		if got := table.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "shard 3 copies its rows …") {
			t.Errorf("not one line of a head and one of the operation:\n%s", got)
		}
	}
	if got := cli.FirstLine(strings.Repeat("é", 300)); len([]rune(got)) != 160 {
		t.Errorf("a long reason is %d characters of a table", len([]rune(got)))
	}
	if got := operationLine(&op); strings.Contains(got, "\n") {
		t.Errorf("progress of several lines: %s", got)
	}
	var detail strings.Builder
	operationDetail(&detail, &op, false)
	for _, want := range []string{
		"about\ttable public.m\n", "step\tcopy, try 2\n", "ask node n4 (127.0.0.1:4104): refused",
		strings.Repeat("x", 300),
	} {
		if !strings.Contains(detail.String(), want) {
			t.Errorf("no %q in\n%s", want, detail.String())
		}
	}
}

func TestPlanInWords(t *testing.T) {
	nodes := []clusterapi.Load{
		{Node: "n1", Replicas: 8, DiskUsed: 30, DiskCapacity: 100, IngestShare: 0.5, Load: 0.37}, {Node: "n2"},
	}
	for _, c := range []struct {
		plan  clusterapi.Plan
		wants []string
	}{
		{
			clusterapi.Plan{Nodes: nodes, Even: "the loads are close"},
			[]string{
				"n1    8         30 %  50 %    0.37", "n2    0         -     0 %     0.00",
				"no replica needs to be moved: the loads are close",
			},
		},
		{
			clusterapi.Plan{Nodes: nodes, Blocked: []string{"shard 1: no room"}},
			[]string{"cannot be done: shard 1: no room", "no replica needs to be moved"},
		},
		{
			clusterapi.Plan{Nodes: nodes, Moves: []clusterapi.Move{{Shard: 3, From: "n1", To: "n2", Reason: "balance"}}},
			[]string{"3      n1    n2  0 B    balance"},
		},
	} {
		var out strings.Builder
		if err := printPlan(&out, &c.plan); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, out.String())
			}
		}
	}
}
