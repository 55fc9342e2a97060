package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// NewRebalanceCommand returns the command rebalance.
func NewRebalanceCommand() *cobra.Command {
	o := &rebalanceOptions{}
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Show the moves that would balance the nodes, then make them",
		Long: `Show which replicas would be moved to balance the load of the nodes, and then move them, followed by
hot tables. New moves are planned until the balance cannot be improved. --plan only shows the moves.

The load of a node is the weighted sum of its disk usage (0.5), its share of the cluster's ingest
(0.3; less below 1 MiB/s per node) and its share of all replicas (0.2). Replicas move if the loads
of two nodes differ by more than 0.1, or if their numbers of replicas differ by more than a fifth of
the mean and by more than two. They move to nodes whose disks are at most 80 % full, or up to 90 %
if the disks of the other nodes are as full. If nothing is to be moved, the command says why.

The cluster starts a rebalance by itself ten minutes after nodes were added or removed, if the loads
differ by three times as much, and soon after a node without replicas becomes active again. While a
rebalance is running, no second one is started: --wait then waits for the running one.`,
		Example: "  cordwood rebalance --plan\n  cordwood rebalance --yes --wait",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runRebalance(cmd, o) },
	}
	cmd.Flags().BoolVar(&o.planOnly, "plan", false, "only show the moves; --output json or yaml are for programs")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	waitFlag(cmd, &o.wait)
	cli.ListOutput(cmd, &o.output)
	return cmd
}

// rebalanceOptions are the flags of rebalance.
type rebalanceOptions struct {
	planOnly, yes, wait bool
	output              string
}

func (o *rebalanceOptions) check() error {
	switch {
	case o.output != "table" && !o.planOnly:
		return cli.WrongUsage(fmt.Errorf(
			"--output %s needs --plan: 'cordwood cluster operations --output %s' shows the operations", o.output, o.output))
	case o.planOnly && (o.yes || o.wait):
		return cli.WrongUsage(errors.New(
			"--plan only shows the moves: remove it, or remove --yes and --wait"))
	}
	return nil
}

func runRebalance(cmd *cobra.Command, o *rebalanceOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	a, err := newAPI(cmd)
	if err != nil {
		return err
	}
	plan := &clusterapi.Plan{}
	if err := a.call(cmd.Context(), http.MethodGet, "/plan", nil, plan); err != nil {
		return err
	}
	if o.planOnly && o.output != "table" {
		return cli.PrintList(cmd.OutOrStdout(), o.output, plan, nil)
	}
	if err := printPlan(cmd.OutOrStdout(), plan); err != nil || o.planOnly {
		return err
	}
	if op, err := a.runningRebalance(cmd.Context()); err != nil || op != nil {
		return errors.Join(err, a.joinRebalance(cmd, op, o.wait))
	}
	if !o.yes && nothingToDo(plan) && !cli.CanAsk(cmd) {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "there is nothing to do; --yes looks for hot tables and moves them")
		return err
	}
	if !o.yes {
		question := "make these moves, and then move hot tables?"
		if len(plan.Moves) == 0 {
			question = "look for hot tables, and move them?"
		}
		if err := cli.Confirm(cmd, question); err != nil {
			return err
		}
	}
	return begin(cmd, &clusterapi.Request{Kind: "rebalance"}, o.wait)
}

// nothingToDo reports whether a plan has no moves, not even blocked moves.
func nothingToDo(plan *clusterapi.Plan) bool {
	return len(plan.Moves) == 0 && len(plan.Blocked) == 0 && !plan.Paused
}

// runningRebalance returns the running rebalance, or nil. The cluster also starts rebalances itself.
func (a *api) runningRebalance(ctx context.Context) (*clusterapi.Operation, error) {
	all, err := a.operations(ctx)
	for _, op := range all {
		if op.Kind == "rebalance" && op.State == "running" {
			return &op, nil
		}
	}
	return nil, err
}

// joinRebalance follows a rebalance that is running already.
func (a *api) joinRebalance(cmd *cobra.Command, op *clusterapi.Operation, wait bool) error {
	if op == nil {
		return nil
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "operation %d rebalances already, started by %s\n", op.ID, op.By)
	return a.follow(cmd, &clusterapi.Answer{Operation: op}, wait)
}

func printPlan(w io.Writer, plan *clusterapi.Plan) error {
	if plan.Paused {
		fmt.Fprintln(w, "rebalancing is paused: 'cordwood cluster resume rebalance' resumes it")
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(plan.Nodes) > 0 {
		fmt.Fprintln(t, "NODE\tREPLICAS\tDISK\tINGEST\tLOAD")
		for _, n := range plan.Nodes {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.0f %%\t%.2f\n", n.Node, n.Replicas, percent(n.DiskUsed, n.DiskCapacity),
				100*n.IngestShare, n.Load)
		}
		if err := t.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, b := range plan.Blocked {
		fmt.Fprintf(w, "cannot be done: %s\n", b)
	}
	switch {
	case len(plan.Moves) > 0:
	case plan.Even != "":
		fmt.Fprintf(w, "no replica needs to be moved: %s\n", plan.Even)
		return nil
	default:
		fmt.Fprintln(w, "no replica needs to be moved")
		return nil
	}
	fmt.Fprintln(t, "SHARD\tFROM\tTO\tBYTES\tREASON")
	for _, m := range plan.Moves {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", m.Shard, cli.Dash(m.From), cli.Dash(m.To), cli.FormatSize(m.Bytes), m.Reason)
	}
	return t.Flush()
}
