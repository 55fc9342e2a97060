package discovery

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"

	grpcpeer "google.golang.org/grpc/peer"

	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// recorded records the calls of RecordCaller.
type recorded struct {
	book
	list []string
}

func (b *recorded) RecordCaller(host, id, addr string, _ []string) {
	b.list = append(b.list, fmt.Sprint(host, " ", id, " ", addr))
}

// TestCallers checks that the host of a caller is recorded, and that invalid messages are refused.
func TestCallers(t *testing.T) {
	w := newWorld(t, 1, nil)
	b := &recorded{}
	d := New(Config{NodeID: "me", State: w.nodes[0].state, Book: b})
	outsider := grpcpeer.NewContext(context.Background(),
		&grpcpeer.Peer{Addr: &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 999}})
	for _, c := range []struct {
		id, addr string
		roles    []string
		want     string
	}{
		{"a", "10.0.0.7:4001", []string{"meta"}, ""},
		{"", "", nil, ""},
		{strings.Repeat("x", 256), "a:1", nil, "its id"},
		{"a\nb", "a:1", nil, "its id"},
		{"a", strings.Repeat("x", 300) + ":1", nil, "its address"},
		{"a", "nowhere", nil, "is not HOST:PORT"},
		{"a", "a:1", make([]string, 9), "9 roles"},
		{"a", "a:1", []string{strings.Repeat("x", 33)}, "its role"},
	} {
		_, err := d.Hello(outsider, &metapb.HelloRequest{NodeId: c.id, AdvertiseAddr: c.addr, Roles: c.roles})
		if got := errs.FromGRPC(err); c.want == "" && err != nil ||
			c.want != "" && (errs.CodeOf(got) != errs.InvalidArguments || !strings.Contains(got.Error(), c.want)) {
			t.Errorf("node %.20q at %.20q: %v, want %q", c.id, c.addr, err, c.want)
		}
	}
	if want := []string{"10.0.0.7 a 10.0.0.7:4001", "10.0.0.7  "}; !slices.Equal(b.list, want) {
		t.Errorf("noted %q, want %q", b.list, want)
	}
}
