package cluster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLostShardIsDropped gives up the only replica of a shard, whose node is lost. Its table must become writable and
// readable again, without its earlier rows, which must not come back with the node.
func TestLostShardIsDropped(t *testing.T) {
	c := NewCluster(t, Spec{All: 3, Replication: 1, Shards: 3})
	c.Start()
	first, lost := c.Nodes[0], c.Nodes[2]
	// One table for each shard, so that one of them is on the node that is lost.
	table, shard := "", 0
	for i := range 3 {
		name := fmt.Sprintf("t%d", i)
		if err := ingest(first, name, 0, 10); err != nil {
			t.Fatal(err)
		}
	}
	var status struct {
		Shards []struct {
			ID       int      `json:"id"`
			Replicas []string `json:"replicas"`
		} `json:"shards"`
	}
	ask := func(method, path, body string, out any) *Answer {
		t.Helper()
		a, err := first.Do(method, path, strings.NewReader(body), "Content-Type", "application/json")
		if err != nil {
			t.Fatal(err)
		}
		if out != nil {
			if err := json.Unmarshal(a.Body, out); err != nil {
				t.Fatalf("%s: %v", a.Body, err)
			}
		}
		return a
	}
	ask("GET", "/v1/cluster", "", &status)
	for _, s := range status.Shards {
		if len(s.Replicas) == 1 && s.Replicas[0] == lost.Name {
			shard = s.ID
		}
	}
	lost.Kill()
	for i := range 3 {
		if a, err := first.Do("POST", "/v1/sql?sql=SELECT+count(*)+FROM+t"+fmt.Sprint(i), nil); err != nil ||
			a.Status != 200 {
			table = fmt.Sprintf("t%d", i)
		}
	}
	if shard == 0 || table == "" {
		t.Fatalf("no shard, or no table, is on %s alone: %+v", lost.Name, status)
	}
	var answer struct {
		Confirm, Error string
		Operation      *struct{ ID int }
	}
	drop := fmt.Sprintf(`{"kind":"shard-drop","shard":%d,"confirm":"%d"}`, shard, shard)
	for deadline := time.Now().Add(Generous(time.Minute)); answer.Operation == nil; {
		ask("POST", "/v1/cluster/operations", drop, &answer)
		if time.Now().After(deadline) {
			t.Fatalf("the shard was not given up: %+v", answer)
		}
		<-time.After(200 * time.Millisecond)
	}
	rows := func(want int) (err error) {
		for deadline := time.Now().Add(Generous(30 * time.Second)); ; {
			if err = wantRows(first, table, want); err == nil || time.Now().After(deadline) {
				return err
			}
		}
	}
	for deadline := time.Now().Add(Generous(30 * time.Second)); ; {
		err := ingest(first, table, 0, 3)
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	if err := rows(3); err != nil {
		t.Fatal(err)
	}
	lost.Start()
	for _, n := range c.Nodes {
		if err := wantRows(n, table, 3); err != nil {
			t.Errorf("after the node came back: %v", err)
		}
	}
	if a := ask("GET", "/v1/cluster", "", nil); !strings.Contains(string(a.Body), "that the cluster does not use") {
		for deadline := time.Now().Add(Generous(10 * time.Second)); !strings.Contains(string(a.Body),
			"that the cluster does not use"); a = ask("GET", "/v1/cluster", "", nil) {
			if time.Now().After(deadline) {
				t.Fatalf("the status does not list the remaining folder: %s", a.Body)
			}
		}
	}
	c.Stop()
}
