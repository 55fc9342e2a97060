package chaos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"cordwood/test/cluster"
)

// operation is a request for an operation of the cluster.
type operation struct {
	Kind     string   `json:"kind"`
	Shard    uint32   `json:"shard,omitempty"`
	Table    string   `json:"table,omitempty"`
	Node     string   `json:"node,omitempty"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	ToShards []uint32 `json:"to_shards,omitempty"`
	// WithRows makes a table-move or a table-partition also move the stored rows.
	WithRows bool `json:"with_rows,omitempty"`
	// Partitions is the number of shards of a table-partition.
	Partitions int `json:"partitions,omitempty"`
}

// progress is the progress of an operation.
type progress struct {
	ID      uint64 `json:"id"`
	Kind    string `json:"kind"`
	State   string `json:"state"`
	Subject string `json:"subject"`
	Step    string `json:"step"`
	Reason  string `json:"reason"`
}

// begin starts an operation. It repeats requests that fail because there is no leader.
func begin(t testing.TB, n *cluster.Node, op operation) *progress {
	t.Helper()
	text, err := json.Marshal(op)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Operation *progress }
	cluster.Eventually(t, time.Minute, func() error {
		a, err := n.Do(http.MethodPost, "/v1/cluster/operations", strings.NewReader(string(text)), "Content-Type",
			"application/json")
		if err != nil {
			return err
		}
		if a.Status != http.StatusOK {
			return fmt.Errorf("%s: %d %s", text, a.Status, a.Body)
		}
		return json.Unmarshal(a.Body, &out)
	})
	return out.Operation
}

// await waits until an operation has ended, and returns its last progress.
func await(t testing.TB, n *cluster.Node, op *progress) *progress {
	t.Helper()
	if op == nil {
		return nil
	}
	last := op
	cluster.Eventually(t, 3*time.Minute, func() error {
		a, err := n.Do(http.MethodGet, fmt.Sprintf("/v1/cluster/operations/%d", op.ID), nil)
		if err != nil {
			return err
		}
		var out struct{ Operation *progress }
		if a.Status != http.StatusOK {
			return fmt.Errorf("operation %d: %d %s", op.ID, a.Status, a.Body)
		}
		if err := json.Unmarshal(a.Body, &out); err != nil {
			return err
		}
		if last = out.Operation; last.State == "running" {
			return fmt.Errorf("%s %s is at %s: %s", last.Kind, last.Subject, last.Step, last.Reason)
		}
		return nil
	})
	return last
}

// run runs an operation, and fails the test unless it ends as done.
func run(t testing.TB, n *cluster.Node, op operation) {
	t.Helper()
	if p := await(t, n, begin(t, n, op)); p != nil && p.State != "done" {
		t.Errorf("%s %s ended as %s: %s", p.Kind, p.Subject, p.State, p.Reason)
	}
}

// cancel cancels an operation, which may already have ended.
func cancel(t testing.TB, n *cluster.Node, op *progress) {
	t.Helper()
	cluster.Eventually(t, time.Minute, func() error {
		a, err := n.Do(http.MethodDelete, fmt.Sprintf("/v1/cluster/operations/%d", op.ID), nil)
		if err == nil && a.Status >= 500 {
			err = fmt.Errorf("cancel operation %d: %d %s", op.ID, a.Status, a.Body)
		}
		return err
	})
}
