package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// newNodeScaleCommand returns the command node scale. It is for orchestrators, which start and stop
// the last nodes of a numbered set: the pods NAME-0, NAME-1, … of a StatefulSet.
func newNodeScaleCommand() *cobra.Command {
	to, force := 0, false
	cmd := &cobra.Command{
		Use:   "scale NAME --to N",
		Short: "Prepare the set of nodes NAME-0, NAME-1, … for N nodes, before the surplus nodes stop",
		Long: `Prepare the nodes NAME-0, NAME-1, … (for example the pods of a StatefulSet) to be N nodes. Nodes
from NAME-N on are decommissioned, all at once. Drained nodes before NAME-N become active again. The
command ends when the surplus nodes have no replicas, so that they may be stopped. If the remaining
nodes cannot hold all replicas, or if there is no node with that name, nothing is changed and the
exit status is 1.`,
		Example: "  cordwood node scale cordwood-shard --to 3",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("to") || to < 0 {
				return cli.WrongUsage(errors.New("--to is needed: the wanted number of nodes, 0 or more"))
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			return a.scale(cmd, args[0], to, force)
		},
	}
	cmd.Flags().IntVar(&to, "to", 0, "wanted number of these nodes")
	forceFlag(cmd, &force)
	return cmd
}

// ordinal returns the number of a node in a set, and whether the node belongs to it.
func ordinal(node, row string) (int, bool) {
	text, ok := strings.CutPrefix(node, row+"-")
	n, err := strconv.Atoi(text)
	return n, ok && err == nil && n >= 0 && strconv.Itoa(n) == text
}

// scale decommissions the nodes of a set with number `to` and higher, and makes the others active.
func (a *api) scale(cmd *cobra.Command, row string, to int, force bool) error {
	status, err := a.status(cmd.Context())
	if err != nil {
		return err
	}
	if err := checkKnown(status, row); err != nil {
		return err
	}
	if err := roomFor(status, row, to); err != nil {
		return err
	}
	nodes := slices.Clone(status.Nodes)
	slices.SortStableFunc(nodes, func(x, y clusterapi.Node) int {
		nx, _ := ordinal(x.Name, row)
		ny, _ := ordinal(y.Name, row)
		return cmp.Compare(ny, nx)
	})
	out := cmd.OutOrStdout()
	var started []uint64
	for _, n := range nodes {
		switch scaleStep(status, &n, row, to) {
		case makeActive:
			answer, err := a.request(cmd, &clusterapi.Request{Kind: "node-undrain", Node: n.ID})
			if err != nil {
				return fmt.Errorf("make node %s active again: %w", n.Name, err)
			}
			fmt.Fprintln(out, cmp.Or(answer.Message, fmt.Sprintf("node %s: its drain is being cancelled", n.Name)))
		case reportEmpty:
			fmt.Fprintf(out, "node %s is empty\n", n.Name)
		case startDecommission:
			id, err := a.decommission(cmd, status, &n, force)
			if err != nil {
				return errors.Join(fmt.Errorf("decommission node %s: %w", n.Name, err), a.undo(cmd, started))
			}
			fmt.Fprintf(out, "operation %d: node-decommission %s\n", id, n.Name)
			started = append(started, id)
		}
	}
	for _, id := range started {
		if err := a.wait(cmd, id); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s may have %s\n", row, cli.Count(to, "node"))
	return nil
}

// action is what scale does with a node.
type action int

const (
	doNothing         action = iota // it does not belong to the set, or is in the right state
	makeActive                      // make it active again
	reportEmpty                     // it is empty and may be stopped
	startDecommission               // decommission it
)

// scaleStep returns the action for a node if its set is to have `to` nodes.
func scaleStep(status *clusterapi.Status, n *clusterapi.Node, row string, to int) action {
	number, ok := ordinal(n.Name, row)
	if !ok {
		return doNothing
	}
	leaving, empty := n.State == "draining" || n.State == "drained", n.Replicas == 0 && n.Meta == ""
	if number < to {
		// A node that is down may have been drained before it was stopped, and is about to be
		// started.
		emptied := n.State == "down" && empty && decommissioning(status, n) == 0
		if leaving || emptied {
			return makeActive
		}
		return doNothing
	}
	if empty && (n.State == "drained" || n.State == "down") {
		// A decommission of a node that is down would remove it from the cluster, and it could not
		// return with its data folder.
		return reportEmpty
	}
	return startDecommission
}

// checkKnown returns an error if a set has no node. With a mistyped name, nodes with replicas would be stopped.
func checkKnown(status *clusterapi.Status, row string) error {
	var names []string
	for _, n := range status.Nodes {
		if _, ok := ordinal(n.Name, row); ok {
			return nil
		}
		names = append(names, n.Name)
	}
	return fmt.Errorf("there is no node %s-0, %s-1 and so on: there are %s; nothing was done", row, row,
		strings.Join(names, ", "))
}

// roomFor returns an error if the remaining nodes cannot hold all replicas. The server checks one
// node at a time, and does not count nodes as leaving if their operations were started a moment
// ago.
func roomFor(status *clusterapi.Status, row string, to int) error {
	stay, leave := 0, 0
	for _, n := range status.Nodes {
		number, ok := ordinal(n.Name, row)
		switch {
		case ok && number >= to:
			if n.Replicas > 0 {
				leave++
			}
		case slices.Contains(n.Roles, "shard") && (n.State == "up" || n.State == "unknown"):
			stay++
		}
	}
	for _, s := range status.Shards {
		if leave > 0 && s.Want > stay {
			return fmt.Errorf("%s cannot be %s: shard %d wants %s, and %s would be left to hold one: "+
				"keep more nodes, or reduce its replicas with 'cordwood shard replicas %d %d'",
				// The number of replicas must be odd.
				row, cli.Count(to, "node"), s.ID, cli.Count(s.Want, "replica"), cli.Count(stay, "node"), s.ID,
				max(stay-(stay+1)%2, 1))
		}
	}
	return nil
}

// decommission starts to drain a node. If an operation does that already, as after an interrupted
// run of this command, it returns the id of that operation.
func (a *api) decommission(cmd *cobra.Command, status *clusterapi.Status, n *clusterapi.Node,
	force bool,
) (uint64, error) {
	if id := decommissioning(status, n); id != 0 {
		return id, nil
	}
	answer, err := a.request(cmd, &clusterapi.Request{Kind: "node-decommission", Node: n.ID, Force: force})
	if err != nil {
		return 0, err
	}
	if answer.Operation == nil {
		return 0, fmt.Errorf("the server started no operation: %s", answer.Message)
	}
	return answer.Operation.ID, nil
}

// decommissioning returns the id of the operation that decommissions a node, or 0 if there is none.
func decommissioning(status *clusterapi.Status, n *clusterapi.Node) uint64 {
	for _, op := range status.Operations {
		if op.Kind == "node-decommission" && op.State == "running" && op.Subject == "node "+n.Name {
			return op.ID
		}
	}
	return 0
}

// undo cancels the operations that a command has started before its failure.
func (a *api) undo(cmd *cobra.Command, ids []uint64) error {
	var errs []error
	for _, id := range ids {
		var answer clusterapi.Answer
		if err := a.call(cmd.Context(), http.MethodDelete, "/operations/"+strconv.FormatUint(id, 10), nil,
			&answer); err != nil {
			errs = append(errs, fmt.Errorf("cancel operation %d, which this command started: %w", id, err))
		}
	}
	return errors.Join(errs...)
}

// newNodeForgetCommand returns the command node forget-routers. It is for routers that an
// orchestrator replaces: each new one is a new node, and the old ones never return.
func newNodeForgetCommand() *cobra.Command {
	silent := 15 * time.Minute
	cmd := &cobra.Command{
		Use:   "forget-routers",
		Short: "Remove nodes that have only the role router and have been silent for long",
		Long: `Remove nodes that have only the role router and have not answered for --silent. Use it for routers
without a persistent data folder, each of which joins as a new node. A removed router can rejoin
only with an empty data folder.`,
		Example: "  cordwood node forget-routers --silent 15m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if silent < 0 {
				return cli.WrongUsage(fmt.Errorf("--silent %s: want a duration that is not negative, such as 15m", silent))
			}
			a, status, err := askStatus(cmd)
			if err != nil {
				return err
			}
			var errs []error
			forgotten := 0
			for _, n := range status.Nodes {
				if !slices.Equal(n.Roles, []string{"router"}) || n.State != "down" || n.SilentSeconds < silent.Seconds() {
					continue
				}
				if _, err := a.request(cmd, &clusterapi.Request{Kind: "node-remove", Node: n.ID}); err != nil {
					errs = append(errs, fmt.Errorf("remove node %s: %w", n.Name, err))
					continue
				}
				forgotten++
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s forgotten\n", cli.Count(forgotten, "router"))
			return errors.Join(errs...)
		},
	}
	cmd.Flags().DurationVar(&silent, "silent", silent, "minimum time without an answer")
	return cmd
}
