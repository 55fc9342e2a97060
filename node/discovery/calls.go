package discovery

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cordwood/node/rpcport"
	"cordwood/proto/errs"
	"cordwood/proto/metapb"
)

// hello asks the node at an address for its identity.
func (d *Discovery) hello(ctx context.Context, addr string) (*metapb.HelloResponse, error) {
	return d.helloFrom(ctx, addr, true)
}

// helloFrom is hello, except that it fails at once if wait is false and no connection can be made.
func (d *Discovery) helloFrom(ctx context.Context, addr string, wait bool) (*metapb.HelloResponse, error) {
	client, err := d.client(addr)
	if err != nil {
		return nil, err
	}
	d.deciding.Lock()
	cluster, _ := d.cfg.State.Cluster()
	d.deciding.Unlock()
	resp, err := client.Hello(ctx, &metapb.HelloRequest{
		ClusterId: cluster, NodeId: d.cfg.NodeID, MinProtocol: d.cfg.Lowest, MaxProtocol: d.cfg.Highest,
		AdvertiseAddr: d.cfg.Addr, Roles: d.cfg.Roles,
	}, grpc.WaitForReady(wait))
	d.mu.Lock()
	refusal, proven := d.refusals[addr], d.proven[addr]
	d.mu.Unlock()
	switch {
	case err != nil && refusal != nil:
		return nil, refusal
	case status.Code(err) == codes.Unauthenticated:
		return nil, &rpcport.Unproven{Reason: short(err).Error(), Err: err}
	case err == nil && proven != "" && resp.NodeId != proven:
		return nil, fmt.Errorf("it claims to be node %s, but its certificate is for node %s", resp.NodeId, proven)
	}
	return resp, short(err)
}

// dialing is the text that gRPC adds to the error of a dialer.
const dialing = "Error while dialing: "

// short returns the reason of a failed call without gRPC's own words.
func short(err error) error {
	if err == nil {
		return nil
	}
	text := errs.From(errs.FromGRPC(err)).Msg
	if i := strings.LastIndex(text, dialing); i >= 0 {
		text = text[i+len(dialing):]
	}
	if i := strings.LastIndex(text, "dial tcp "); i >= 0 {
		text = text[i:]
	}
	if strings.Contains(text, "deadline exceeded") && !strings.Contains(text, "dial tcp") {
		text = "no answer"
	}
	return errors.New(strings.Trim(text, `"`))
}

// client returns the connection to an address, whichever node uses the address.
func (d *Discovery) client(addr string) (metapb.DiscoveryClient, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.conns[addr]
	if c == nil {
		var err error
		c, err = grpc.NewClient("passthrough:///"+addr,
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				return d.dial(ctx, addr)
			}),
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{
					BaseDelay: 50 * time.Millisecond, Multiplier: 2, Jitter: 0.2, MaxDelay: 500 * time.Millisecond,
				},
				MinConnectTimeout: time.Second,
			}))
		if err != nil {
			return nil, err
		}
		d.conns[addr] = c
	}
	return metapb.NewDiscoveryClient(c), nil
}

// dial connects to an address, and records the node that the connection was authenticated with.
func (d *Discovery) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := d.cfg.Dialer.Dial(ctx, rpcport.Target{Addr: addr, Name: d.nameOf(addr)}, "h2")
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.refusals, addr)
	delete(d.proven, addr)
	unproven := (*rpcport.Unproven)(nil)
	switch {
	case errors.As(err, &unproven):
		d.refusals[addr] = unproven
	case err == nil:
		d.proven[addr] = d.cfg.Dialer.Proven(conn)
	}
	return conn, err
}

// forgetConns closes the connections to all addresses except addrs.
func (d *Discovery) forgetConns(addrs []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for addr, c := range d.conns {
		if !slices.Contains(addrs, addr) {
			_ = c.Close() // no call uses it
			delete(d.conns, addr)
			delete(d.names, addr)
			delete(d.refusals, addr)
			delete(d.proven, addr)
			delete(d.loggedRefusal, addr)
		}
	}
}

// Close closes the connections to seeds.
func (d *Discovery) Close() error {
	d.forgetConns(nil)
	return nil
}
