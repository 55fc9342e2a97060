package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/httpapi/clusterapi"
)

// waitFlag adds the flag --wait of commands that start an operation.
func waitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "show the progress until the operation ends; Ctrl-C leaves it running")
}

// begin requests an operation, and waits for its end if wait is set.
func begin(cmd *cobra.Command, r *clusterapi.Request, wait bool) error {
	a, err := newAPI(cmd)
	if err != nil {
		return err
	}
	answer, err := a.request(cmd, r)
	if err != nil {
		return err
	}
	return a.follow(cmd, answer, wait)
}

// follow prints the answer to a request, and waits for the end of its operation if wait is set.
func (a *api) follow(cmd *cobra.Command, answer *clusterapi.Answer, wait bool) error {
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
		fmt.Fprintf(cmd.ErrOrStderr(), "'cordwood cluster operations %d --wait' shows its progress\n", op.ID)
		return nil
	}
	return a.wait(cmd, op.ID)
}

// wait shows an operation until it ends. It returns an error unless the operation is done.
func (a *api) wait(cmd *cobra.Command, id uint64) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	last, failures := "", 0
	var said time.Time
	for {
		op, err := a.operation(ctx, id)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "operation %d continues in the background: 'cordwood cluster operations %d' shows "+
				"it, "+
				"'cordwood cluster cancel %d' cancels it\n", id, id, id)
			return cli.ExitWith(cli.ExitFailed)
		case err != nil:
			// While a node restarts or a leader is elected, the operation continues.
			if e := (*client.Error)(nil); errors.As(err, &e) && e.Status < 500 || failures >= 30 {
				return fmt.Errorf("operation %d continues, but its state cannot be read: %w", id, err)
			}
			failures++
		case op.State == "done":
			fmt.Fprintf(cmd.OutOrStdout(), "done: %s\n", op.Reason)
			return nil
		case op.State != "running":
			return fmt.Errorf("operation %d is %s: %s", id, op.State, op.Reason)
		default:
			failures = 0
			// Print changes at once, and the remaining time every ten seconds.
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

// operationLine returns one line about a running operation.
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
