package doctor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cordwood/proto/words"
	"cordwood/router/httpapi/clusterapi"
)

// Server is a running server, reached over HTTP.
type Server interface {
	// Get requests a path, once. A status other than 2xx is an error.
	Get(ctx context.Context, path string, query url.Values) (*http.Response, error)
	// Server is its address.
	Server() string
}

// Limits of the requests to a server.
const (
	askTimeout = 10 * time.Second
	dialWait   = 3 * time.Second
	maxReply   = 4 << 20
)

// server asks a running server for its state, and checks whether its nodes are reachable from here.
func (d *doctor) server(ctx context.Context) {
	d.part = "server"
	s := d.cfg.Server
	if s == nil {
		return
	}
	defer func() { d.report.Server = s.Server() }() // if there are several addresses, the one that answered
	before := time.Now()
	_, header, err := d.ask(ctx, "/health", nil)
	if err != nil {
		d.find(Attention, "", "start it with 'cordwood serve', or give its address by --server", "%v", err)
		return
	}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		d.differs(s.Server(), at, before, time.Now())
	}
	body, _, err := d.ask(ctx, "/ready", url.Values{"for": {"writes"}})
	if err != nil {
		d.find(Attention, "", "its log has details", "the server is alive but not ready: %v", err)
		return
	}
	var ready struct{ Warnings []string }
	if json.Unmarshal(body, &ready) == nil {
		for _, w := range ready.Warnings {
			d.find(Attention, "", "", "the server warns: %s", w)
		}
	}
	if body, _, err := d.ask(ctx, "/status", nil); err == nil && d.cfg.Version != "" {
		var st struct{ Version string }
		if json.Unmarshal(body, &st) == nil && st.Version != d.cfg.Version {
			d.find(Note, "", "", "the server is version %s, this program %s", st.Version, d.cfg.Version)
		}
	}
	if d.nodes(ctx) {
		d.cluster(ctx)
	}
}

// cluster reports the shards that cannot take writes, and the rows that replicas cannot write to segments. It does
// not report a shard that is new or elects a leader.
func (d *doctor) cluster(ctx context.Context) {
	body, _, err := d.ask(ctx, "/v1/cluster", nil)
	var status struct {
		Shards []struct {
			ID    uint32
			State string
		}
		RowsAside []struct {
			Table, Node, Reason, Advice string
			Shard                       uint32
			Rows                        int64
			Since                       *time.Time
		} `json:"rows_aside"`
		ObjectStorage *clusterapi.ObjectStorage `json:"object_storage"`
	}
	if err == nil {
		err = json.Unmarshal(body, &status)
	}
	if err != nil {
		d.find(Attention, "",
			"give --user NAME:PASSWORD of a user who may read the cluster's state, if that is the reason",
			"cannot get the cluster's state: %v", err)
		return
	}
	d.report.Storage = status.ObjectStorage
	var without []string
	for _, s := range status.Shards {
		if s.State == "no leader" || s.State == "leader silent" {
			without = append(without, fmt.Sprint(s.ID))
		}
	}
	if len(without) > 0 {
		d.find(Attention, "", "start the nodes of their replicas: a majority is needed; 'cordwood cluster status' shows "+
			"details",
			"shards without a leader, which accept no writes: %s", strings.Join(without, ", "))
	}
	for _, a := range status.RowsAside {
		since := ""
		if a.Since != nil {
			since = " since " + a.Since.UTC().Format(time.DateTime)
		}
		d.find(Attention, "", a.Advice, "%s of %s in shard %d cannot be written to segments on node %s%s: %s",
			words.Count(a.Rows, "row"), a.Table, a.Shard, a.Node, since, a.Reason)
	}
}

// ask requests a path and reads the answer.
func (d *doctor) ask(ctx context.Context, path string, query url.Values) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	resp, err := d.cfg.Server.Get(ctx, path, query)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	return body, resp.Header, err
}

// rows runs a statement and decodes each row into a new T.
func rows[T any](ctx context.Context, d *doctor, statement string) ([]T, error) {
	body, _, err := d.ask(ctx, "/v1/sql", url.Values{"sql": {statement}, "format": {"ndjson"}})
	if err != nil {
		return nil, err
	}
	var list []T
	lines := bufio.NewScanner(bytes.NewReader(body))
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		var row T
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("reading the server's answer: %w", err)
		}
		list = append(list, row)
	}
	return list, lines.Err()
}

// nodes connects to each node of the cluster, like the nodes to each other. It reports whether the server returned
// the list of nodes.
func (d *doctor) nodes(ctx context.Context) bool {
	type row struct {
		Name string `json:"name"`
		RPC  string `json:"rpc_addr"`
	}
	list, err := rows[row](ctx, d, "SELECT name, rpc_addr FROM svc_private.cluster_nodes ORDER BY name")
	if err != nil {
		d.find(Attention, "", "give --user NAME:PASSWORD of a user who may read, if that is the reason",
			"cannot get the nodes of the cluster: %v", err)
		return false
	}
	for _, n := range list {
		dialer := net.Dialer{Timeout: dialWait}
		conn, err := dialer.DialContext(ctx, "tcp", n.RPC)
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			d.find(Attention, "", "start it, or open the network to its --rpc-addr: nodes need it",
				"node %s is not reachable from this machine: %v", n.Name, err)
		}
	}
	return true
}
