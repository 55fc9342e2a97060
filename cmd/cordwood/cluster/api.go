// Package cluster has the subcommands that show the cluster and change it: cluster, node, shard,
// rebalance and table move.
//
// They use /v1/cluster of a server (api.go). Each change is a request for an operation, which the cluster executes;
// follow.go shows its progress.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/httpapi/clusterapi"
)

// api calls /v1/cluster.
type api struct {
	client *client.Client
}

func newAPI(cmd *cobra.Command, change ...func(*client.Config)) (*api, error) {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) }, change...)
	return &api{client: c}, err
}

// noRetries configures a client that does not retry, for commands that show the current state: they also show that a
// server is not ready.
func noRetries(cfg *client.Config) { cfg.Attempts = 1 }

// maxAnswer is the maximum size of an answer, in bytes.
const maxAnswer = 64 << 20

// call sends a request with body as JSON, and reads the answer into out.
func (a *api) call(ctx context.Context, method, path string, body, out any) error {
	r := client.Request{Method: method, Path: "/v1/cluster" + path}
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		r.Body, r.Header = text, http.Header{"Content-Type": {"application/json"}}
	}
	resp, err := a.client.Do(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%s: read the server's answer: %w", r.Path, err)
	}
	return nil
}

func (a *api) status(ctx context.Context) (*clusterapi.Status, error) {
	out := &clusterapi.Status{}
	return out, a.call(ctx, http.MethodGet, "", nil, out)
}

// askStatus requests the state of the cluster.
func askStatus(cmd *cobra.Command) (*api, *clusterapi.Status, error) {
	a, err := newAPI(cmd, noRetries)
	if err != nil {
		return nil, nil, err
	}
	status, err := a.status(cmd.Context())
	return a, status, err
}

func (a *api) operations(ctx context.Context) ([]clusterapi.Operation, error) {
	var out struct {
		Operations []clusterapi.Operation `json:"operations"`
	}
	err := a.call(ctx, http.MethodGet, "/operations", nil, &out)
	return out.Operations, err
}

func (a *api) operation(ctx context.Context, id uint64) (*clusterapi.Operation, error) {
	var out clusterapi.Answer
	if err := a.call(ctx, http.MethodGet, "/operations/"+strconv.FormatUint(id, 10), nil, &out); err != nil {
		return nil, err
	}
	if out.Operation == nil {
		return nil, errors.New("the server's answer has no operation")
	}
	return out.Operation, nil
}

// request requests a change of the cluster.
func (a *api) request(cmd *cobra.Command, r *clusterapi.Request) (*clusterapi.Answer, error) {
	answer := &clusterapi.Answer{}
	return answer, a.call(cmd.Context(), http.MethodPost, "/operations", r, answer)
}
