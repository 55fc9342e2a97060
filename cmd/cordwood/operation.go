package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/httpapi/clusterapi"
)

// clusterAPI talks to /v1/cluster.
type clusterAPI struct {
	client *client.Client
}

func newClusterAPI(cmd *cobra.Command, change ...func(*client.Config)) (*clusterAPI, error) {
	errOut := cmd.ErrOrStderr()
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(errOut, text) }, change...)
	return &clusterAPI{client: c}, err
}

// asIs is for commands that show how things are now: a server that is not ready is an answer.
func asIs(cfg *client.Config) { cfg.Attempts = 1 }

// maxClusterAnswer bounds what is read of an answer, in bytes.
const maxClusterAnswer = 64 << 20

func (a *clusterAPI) call(ctx context.Context, method, path string, body, out any) error {
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
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxClusterAnswer)).Decode(out); err != nil {
		return fmt.Errorf("%s: reading the server's answer: %w", r.Path, err)
	}
	return nil
}

func (a *clusterAPI) status(ctx context.Context) (*clusterapi.Status, error) {
	out := &clusterapi.Status{}
	return out, a.call(ctx, http.MethodGet, "", nil, out)
}

// askStatus asks the server for the state of the cluster.
func askStatus(cmd *cobra.Command) (*clusterAPI, *clusterapi.Status, error) {
	a, err := newClusterAPI(cmd, asIs)
	if err != nil {
		return nil, nil, err
	}
	status, err := a.status(cmd.Context())
	return a, status, err
}

func (a *clusterAPI) operations(ctx context.Context) ([]clusterapi.Operation, error) {
	var out struct {
		Operations []clusterapi.Operation `json:"operations"`
	}
	err := a.call(ctx, http.MethodGet, "/operations", nil, &out)
	return out.Operations, err
}

func (a *clusterAPI) operation(ctx context.Context, id uint64) (*clusterapi.Operation, error) {
	var out clusterapi.Answer
	if err := a.call(ctx, http.MethodGet, "/operations/"+strconv.FormatUint(id, 10), nil, &out); err != nil {
		return nil, err
	}
	if out.Operation == nil {
		return nil, errors.New("the server's answer has no operation")
	}
	return out.Operation, nil
}

// waitFlag is the flag --wait of commands that begin an operation.
func waitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "show how far it is and end with its outcome; Ctrl-C leaves it running")
}

// begin asks for an operation, and waits for its end if wait says so.
func begin(cmd *cobra.Command, r *clusterapi.Request, wait bool) error {
	a, err := newClusterAPI(cmd)
	if err != nil {
		return err
	}
	var answer clusterapi.Answer
	if err := a.call(cmd.Context(), http.MethodPost, "/operations", r, &answer); err != nil {
		return err
	}
	return a.follow(cmd, &answer, wait)
}

// follow says what became of a request.
func (a *clusterAPI) follow(cmd *cobra.Command, answer *clusterapi.Answer, wait bool) error {
	out, op := cmd.OutOrStdout(), answer.Operation
	switch {
	case op == nil:
		fmt.Fprintln(out, answer.Message)
		return nil
	case !wait:
		fmt.Fprintf(out, "operation %d: %s %s\n", op.ID, op.Kind, op.Subject)
		if answer.Message != "" {
			fmt.Fprintln(out, answer.Message)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "'cordwood cluster operations %d --wait' shows how far it is\n", op.ID)
		return nil
	}
	return a.wait(cmd, op.ID)
}

// wait shows an operation until it ends.
func (a *clusterAPI) wait(cmd *cobra.Command, id uint64) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	last, failures := "", 0
	var said time.Time
	for {
		op, err := a.operation(ctx, id)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "operation %d goes on without you: 'cordwood cluster operations %d' shows it, 'cordwood cluster cancel %d' cancels it\n", id, id, id)
			return cli.ExitWith(cli.ExitFailed)
		case err != nil:
			// A node that restarts, or a leader that is lost, is no end.
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Status < 500 || failures >= 30 {
				return fmt.Errorf("operation %d goes on, but cannot be looked at: %w", id, err)
			}
			failures++
		case op.State == "done":
			fmt.Fprintf(cmd.OutOrStdout(), "done: %s\n", op.Reason)
			return nil
		case op.State != "running":
			return fmt.Errorf("operation %d is %s: %s", id, op.State, op.Reason)
		default:
			failures = 0
			// What is new is said at once, and how long it will take now and then.
			if now := fmt.Sprint(op.Step, op.Reason, op.DoneBytes); now != last || time.Since(said) > 10*time.Second {
				fmt.Fprintln(cmd.ErrOrStderr(), operationLine(op))
				last, said = now, time.Now()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// operationLine is a running operation in one line.
func operationLine(op *clusterapi.Operation) string {
	reason := strings.ReplaceAll(op.Reason, "\n", "; ")
	line := fmt.Sprintf("operation %d: %s", op.ID, reason)
	if op.Step != "" {
		line = fmt.Sprintf("operation %d, %s: %s", op.ID, op.Step, reason)
	}
	if op.TotalBytes > 0 {
		line += fmt.Sprintf(" (%s of %s", cli.FormatSize(op.DoneBytes), cli.FormatSize(op.TotalBytes))
		if op.ETASeconds != nil && op.DoneBytes < op.TotalBytes {
			line += fmt.Sprintf(", about %s left", time.Duration(*op.ETASeconds*float64(time.Second)).Round(time.Second))
		}
		line += ")"
	}
	return line
}

// shardNumber reads the number of a shard.
func shardNumber(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		return 0, cli.WrongUsage(fmt.Errorf("%q is no shard: shards are numbered from 1, 'cordwood shard list' lists them", text))
	}
	return uint32(n), nil
}
