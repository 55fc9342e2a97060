package cluster

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/router/httpapi/clusterapi"
)

// NewCommand returns the command cluster.
func NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Show the state of the cluster, and control its operations",
		Example: `  cordwood cluster status
  cordwood cluster operations
  cordwood cluster pause rebalance`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newStatusCommand(), newOperationsCommand(), newCancelCommand(),
		newPauseCommand("pause", "rebalance-pause", "Move nothing for balance until 'cordwood cluster resume rebalance'"),
		newPauseCommand("resume", "rebalance-resume", "Resume moves of replicas and tables for balance"),
	)
	return cmd
}

func newStatusCommand() *cobra.Command {
	return statusCommand(&cobra.Command{
		Use:   "status",
		Short: "Show the health of the cluster, its problems, nodes, shards and running operations",
		Long: `Show the health of the cluster on one screen: problems and what to do about them, nodes, shards and
running operations. If the nodes use object storage, a line says whether it is well, and which shards are
behind with it.

The verdict is one of:
  ok        everything works
  starting  a new cluster is creating its first shards
  unknown   the leader of the metadata is new, and has not heard from all nodes
  degraded  the cluster works, but needs attention, for example because a node is down
  broken    something does not work

The exit status is 1 if the cluster is broken or no node answers, otherwise 0. docs/operating.md
lists all cases.`,
		Example: "  cordwood cluster status\n  cordwood cluster status --output json",
	}, func(w io.Writer, output string, status *clusterapi.Status, colors cli.Palette) error {
		var err error
		if output == "table" {
			err = printStatus(w, status, colors)
		} else {
			err = cli.PrintList(w, output, status, nil)
		}
		if err == nil && status.Health == "broken" {
			return cli.ExitWith(cli.ExitFailed)
		}
		return err
	})
}

// statusCommand completes a command that requests the state of the cluster and prints a part of it.
func statusCommand(
	cmd *cobra.Command, show func(w io.Writer, output string, status *clusterapi.Status, colors cli.Palette) error,
) *cobra.Command {
	var output string
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		color, err := cli.WantsColor(cmd)
		if err != nil {
			return err
		}
		_, status, err := askStatus(cmd)
		if err != nil {
			return err
		}
		return show(cmd.OutOrStdout(), output, status, cli.Palette(color))
	}
	cli.ListOutput(cmd, &output)
	cli.ColorFlag(cmd, "states")
	return cmd
}

// tolerance describes which failures the cluster tolerates.
func tolerance(s *clusterapi.Status) string {
	some := cli.Count(s.FailureTolerance, "node")
	switch {
	case s.FailureTolerance < 0:
		return fmt.Sprintf("too many nodes have failed: %s does not work", s.LimitedBy)
	case s.Health == "starting":
		return "the first shards are being created: rows can be written once they are ready"
	case s.Health == "unknown" && s.FailureTolerance > 0:
		return fmt.Sprintf("any %s may fail, according to the known nodes; %s", some, describeSilent(s))
	case s.Health == "unknown":
		return fmt.Sprintf("no node may fail, according to the known nodes: %s would stop; %s", s.LimitedBy,
			describeSilent(s))
	case s.FailureTolerance == 0:
		return fmt.Sprintf("no node may fail: %s would stop", s.LimitedBy)
	case s.Health == "broken":
		return fmt.Sprintf("something does not work, see below; the rest survives the failure of any %s", some)
	}
	return fmt.Sprintf("any %s may fail", some)
}

// printStatus prints the cluster as text.
func printStatus(w io.Writer, s *clusterapi.Status, color cli.Palette) error {
	fmt.Fprintf(w, "cluster %s: %s\n%s\n", s.ClusterID, color.State(s.Health), tolerance(s))
	fmt.Fprintf(w, "protocol version %d\n", s.Version)
	if s.ObjectStorage != nil {
		fmt.Fprintf(w, "object storage %s\n", s.ObjectStorage)
	}
	for _, p := range s.Problems {
		fmt.Fprintf(w, "\n%s: %s\n    → %s\n", color.State(p.Severity), p.Text, p.Advice)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "\n")
	nodeTable(t, s.Nodes, color)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Shards) > 0 && !slices.ContainsFunc(s.Shards, func(sh clusterapi.Shard) bool {
		return sh.State != "unknown"
	}) {
		fmt.Fprintf(w, "\n%s; their state is not known now\n", cli.Count(len(s.Shards), "shard"))
	} else {
		fmt.Fprintf(w, "\n%s, %d without a leader, %d under-replicated\n", cli.Count(len(s.Shards), "shard"),
			withoutLeader(s.Shards), s.UnderReplicated)
	}
	shardTable(t, someShards(s.Shards), color)
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(s.Shards) - len(someShards(s.Shards)); n > 0 {
		fmt.Fprintf(w, "and %d more without problems: 'cordwood shard list'\n", n)
	}
	if len(s.RowsAside) > 0 {
		fmt.Fprintf(w, "\nrows that cannot be written to segments\n")
		asideTable(t, s.RowsAside)
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(s.Operations) == 0 {
		fmt.Fprintf(w, "\nno operation is running\n")
		return nil
	}
	fmt.Fprintf(w, "\nrunning operations\n")
	operationTable(t, s.Operations, false, color)
	return t.Flush()
}

// describeSilent describes the nodes that have not reported, and the time since when.
func describeSilent(s *clusterapi.Status) string {
	since := 0.0
	for _, n := range s.Nodes {
		if slices.Contains(s.UnknownNodes, n.Name) || slices.Contains(s.UnknownNodes, n.ID) {
			since = max(since, n.SilentSeconds)
		}
	}
	return fmt.Sprintf("no report from %s for %s, since another node leads the metadata",
		strings.Join(s.UnknownNodes, ", "), time.Duration(since*float64(time.Second)).Round(100*time.Millisecond))
}

// maxStatusShards is the number of shards that the status lists; shards with problems come first.
const maxStatusShards = 24

func someShards(all []clusterapi.Shard) []clusterapi.Shard {
	if len(all) <= maxStatusShards {
		return all
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b clusterapi.Shard) int {
		return cmp.Compare(well(a.State), well(b.State))
	})
	unwell := 0
	for _, s := range sorted {
		if s.State != "ok" {
			unwell++
		}
	}
	return sorted[:max(maxStatusShards, min(unwell, 2*maxStatusShards))]
}

func well(state string) int {
	if state == "ok" {
		return 1
	}
	return 0
}

func withoutLeader(shards []clusterapi.Shard) int {
	n := 0
	for _, s := range shards {
		if s.Leader == "" && s.State != "retiring" { // a retiring shard without tables needs no leader
			n++
		}
	}
	return n
}

func nodeTable(w io.Writer, nodes []clusterapi.Node, color cli.Palette) {
	fmt.Fprintln(w, "NODE\t"+color.Heading("STATE")+"\tROLES\tZONE\tMETA\tREPLICAS\tLEADS\tBYTES\tDISK\tVERSION\tADDRESS")
	for _, n := range nodes {
		state := n.State
		switch n.State {
		case "down", "silent", "stopped", "unknown":
			state = fmt.Sprintf("%s %s", n.State, time.Duration(n.SilentSeconds*float64(time.Second)).Round(time.Second))
		}
		disk := percent(n.DiskUsed, n.DiskCapacity)
		leads, bytes := strconv.Itoa(n.Leads), cli.FormatSize(n.Bytes)
		if n.State == "unknown" || n.State != "up" && n.Bytes == 0 && n.DiskCapacity == 0 { // it has not reported
			leads, bytes = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", n.Name, color.Like(n.State, state),
			strings.Join(n.Roles, ","), cli.Dash(n.Zone), cli.Dash(n.Meta),
			n.Replicas, leads, bytes, disk, cli.Dash(n.Version), n.RPCAddr)
	}
}

func shardTable(w io.Writer, shards []clusterapi.Shard, color cli.Palette) {
	fmt.Fprintln(w, "SHARD\t"+color.Heading("STATE")+"\tLEADER\tREPLICAS\tWANT\tLAG\tBYTES")
	for _, s := range shards {
		names := slices.Clone(s.Replicas)
		for i, name := range names {
			if slices.Contains(s.Unready, name) {
				names[i] += "(behind)"
			}
		}
		replicas := strings.Join(names, ",")
		if len(s.Learners) > 0 {
			replicas += " +" + strings.Join(s.Learners, ",")
		}
		lag, bytes := strconv.FormatUint(s.Lag, 10), cli.FormatSize(s.Bytes)
		if s.State == "unknown" {
			lag, bytes = "-", "-"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, color.State(s.State), cli.Dash(s.Leader), replicas,
			s.Want, lag, bytes)
	}
}

func asideTable(w io.Writer, list []clusterapi.RowsAside) {
	fmt.Fprintln(w, "TABLE\tSHARD\tNODE\tROWS\tBYTES\tSINCE\tREASON")
	for _, a := range list {
		since := "-"
		if a.Since != nil {
			since = a.Since.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", a.Table, a.Shard, a.Node, a.Rows, cli.FormatSize(a.Bytes), since,
			cli.FirstLine(a.Reason))
	}
}

// percent formats the used share of a disk, or "-" if its size is not known.
func percent(used, of int64) string {
	if of <= 0 || of >= 1<<50 {
		return "-"
	}
	return fmt.Sprintf("%d %%", 100*used/of)
}
