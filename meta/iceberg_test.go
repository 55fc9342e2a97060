package meta

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"cordwood/proto/metapb"
)

// TestIcebergCommits checks that of two commits with the same predecessor the first one counts.
func TestIcebergCommits(t *testing.T) {
	m := mustOpen(t, Config{ObjectStorage: true})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "create t time:ts3! append_mode=true iceberg=v2")
	commit := func(table, after uint64, key string, forget bool) string {
		t.Helper()
		resp, err := m.Propose(t.Context(), &metapb.ProposeRequest{Command: &metapb.Command{
			Op: &metapb.Command_CommitIceberg{CommitIceberg: &metapb.CommitIceberg{
				Table: &metapb.IcebergTable{TableId: table, Uuid: "u", Key: key}, IfVersion: after, Forget: forget,
			}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return resp.Result.ErrorMessage
	}
	for _, s := range []struct {
		table, after uint64
		key          string
		forget       bool
		want         string
	}{
		{1, 1, "a", false, "has the commit 0, and not 1"},
		{1, 0, "", false, "want an id and the key of a file"},
		{1, 0, "/a", false, "want an id and the key of a file"},
		{0, 0, "a", false, "no table is given"},
		{9, 0, "a", false, "the table does not exist"},
		{1, 0, "a", false, ""},
		{1, 0, "b", false, "has the commit 1, and not 0: another node has committed"},
		{1, 1, "c", false, ""},
		{1, 1, "", true, "has the commit 2, and not 1"},
	} {
		if got := commit(s.table, s.after, s.key, s.forget); !strings.Contains(got, s.want) || s.want == "" && got != "" {
			t.Errorf("%+v: %s", s, got)
		}
	}
	read := func(table uint64) (list []*metapb.IcebergTable) {
		t.Helper()
		s := &icebergStream{ctx: t.Context()}
		if err := m.ReadIceberg(&metapb.ReadIcebergRequest{TableId: table}, s); err != nil {
			t.Fatal(err)
		}
		return s.list
	}
	for _, id := range []uint64{0, 1} {
		if list := read(id); len(list) != 1 || list[0].Version != 2 || list[0].Key != "c" || list[0].TableId != 1 {
			t.Errorf("commits of %d: %v", id, list)
		}
	}
	if got := commit(1, 2, "", true); got != "" || len(read(0)) > 0 || len(read(1)) > 0 {
		t.Errorf("forgotten: %s, %v", got, read(0))
	}
	if got := commit(1, 0, "", true); got != "" {
		t.Errorf("forgotten twice: %s", got)
	}
}

// TestIcebergNeedsStorage sets the option without object storage.
func TestIcebergNeedsStorage(t *testing.T) {
	m := mustOpen(t, Config{})
	propose(t, m, "bootstrap c1 shards=1")
	propose(t, m, "create t time:ts3! append_mode=true")
	for _, command := range []string{"create u time:ts3! append_mode=true iceberg=v2", "set t iceberg=v3"} {
		if got := propose(t, m, command); !strings.Contains(got, "the servers have none: set --object-storage-url") {
			t.Errorf("%s: %s", command, got)
		}
	}
	with := mustOpen(t, Config{ObjectStorage: true})
	propose(t, with, "bootstrap c1 shards=1")
	propose(t, with, "create t time:ts3! append_mode=true iceberg=v2")
	if got := propose(t, with, "set t cold=false"); !strings.Contains(got, "iceberg: v2 with cold: false") {
		t.Errorf("cold=false: %s", got)
	}
}

// icebergStream collects what ReadIceberg sends.
type icebergStream struct {
	grpc.ServerStreamingServer[metapb.IcebergTable]
	ctx  context.Context
	list []*metapb.IcebergTable
}

func (s *icebergStream) Context() context.Context { return s.ctx }

func (s *icebergStream) Send(x *metapb.IcebergTable) error {
	s.list = append(s.list, x)
	return nil
}
