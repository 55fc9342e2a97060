package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/router/httpapi"
)

func newClusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "See how the cluster is, and look after its operations",
		Example: `  cordwood cluster status
  cordwood cluster operations
  cordwood cluster pause rebalance`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newClusterStatusCommand(), newClusterOperationsCommand(), newClusterCancelCommand(),
		newClusterPauseCommand("pause", "rebalance-pause", "Move nothing for balance until 'cordwood cluster resume rebalance'"),
		newClusterPauseCommand("resume", "rebalance-resume", "Let replicas and tables be moved for balance again"),
	)
	return cmd
}

func newClusterStatusCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Health on one screen: what is wrong and what to do, nodes, shards, running operations",
		Long: `Health on one screen: what is wrong and what to do, nodes, shards, running operations. The
exit status is 1 if something does not work (broken), and 0 otherwise.`,
		Example: "  cordwood cluster status\n  cordwood cluster status --output json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, status, err := askStatus(cmd)
			if err != nil {
				return err
			}
			if output == "table" {
				err = printStatus(cmd.OutOrStdout(), status)
			} else {
				err = printList(cmd.OutOrStdout(), output, status, nil)
			}
			if err == nil && status.Health == "broken" {
				return statusError{exitFailed}
			}
			return err
		},
	}
	listOutput(cmd, &output)
	return cmd
}

// printStatus prints the cluster for people.
func printStatus(w io.Writer, s *httpapi.ClusterStatus) error {
	fmt.Fprintf(w, "cluster %s: %s\n", s.ClusterID, s.Health)
	switch {
	case s.FailureTolerance < 0:
		fmt.Fprintf(w, "too much has failed already: %s does not work\n", s.LimitedBy)
	case s.FailureTolerance == 0:
		fmt.Fprintf(w, "no node may fail: %s would stop\n", s.LimitedBy)
	case s.Health == "broken":
		fmt.Fprintf(w, "something does not work, see below; what works survives the failure of any %s\n", count(s.FailureTolerance, "node"))
	default:
		fmt.Fprintf(w, "any %s may fail\n", count(s.FailureTolerance, "node"))
	}
	for _, p := range s.Problems {
		fmt.Fprintf(w, "\n%s: %s\n    → %s\n", p.Severity, p.Text, p.Advice)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "\n")
	nodeTable(t, s.Nodes)
	if err := t.Flush(); err != nil {
		return err
	}
	if len(s.Shards) > 0 && !slices.ContainsFunc(s.Shards, func(sh httpapi.ClusterShard) bool { return sh.State != "unknown" }) {
		fmt.Fprintf(w, "\n%s; how they are is not known now\n", count(len(s.Shards), "shard"))
	} else {
		fmt.Fprintf(w, "\n%s, %d without a leader, %d under-replicated\n", count(len(s.Shards), "shard"), withoutLeader(s.Shards), s.UnderReplicated)
	}
	shardTable(t, someShards(s.Shards))
	if err := t.Flush(); err != nil {
		return err
	}
	if n := len(s.Shards) - len(someShards(s.Shards)); n > 0 {
		fmt.Fprintf(w, "and %d more, which are fine: 'cordwood shard list'\n", n)
	}
	if len(s.Operations) == 0 {
		fmt.Fprintf(w, "\nno operation runs\n")
		return nil
	}
	fmt.Fprintf(w, "\nrunning operations\n")
	operationTable(t, s.Operations, false)
	return t.Flush()
}

// maxStatusShards is how many shards the status lists; those that are not well come first.
const maxStatusShards = 24

func someShards(all []httpapi.ClusterShard) []httpapi.ClusterShard {
	if len(all) <= maxStatusShards {
		return all
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b httpapi.ClusterShard) int {
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

func withoutLeader(shards []httpapi.ClusterShard) int {
	n := 0
	for _, s := range shards {
		if s.Leader == "" {
			n++
		}
	}
	return n
}

func nodeTable(w io.Writer, nodes []httpapi.ClusterNode) {
	fmt.Fprintln(w, "NODE\tSTATE\tROLES\tZONE\tMETA\tREPLICAS\tLEADS\tBYTES\tDISK\tADDRESS")
	for _, n := range nodes {
		state := n.State
		if n.State == "down" || n.State == "silent" {
			state = fmt.Sprintf("%s %s", n.State, time.Duration(n.SilentSeconds*float64(time.Second)).Round(time.Second))
		}
		disk := percent(n.DiskUsed, n.DiskCapacity)
		leads, bytes := strconv.Itoa(n.Leads), formatSize(n.Bytes)
		if n.State == "unknown" {
			leads, bytes = "-", "-"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", n.Name, state, strings.Join(n.Roles, ","), dash(n.Zone), dash(n.Meta),
			n.Replicas, leads, bytes, disk, n.RPCAddr)
	}
}

func shardTable(w io.Writer, shards []httpapi.ClusterShard) {
	fmt.Fprintln(w, "SHARD\tSTATE\tLEADER\tREPLICAS\tWANT\tLAG\tBYTES")
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
		lag, bytes := strconv.FormatUint(s.Lag, 10), formatSize(s.Bytes)
		if s.State == "unknown" {
			lag, bytes = "-", "-"
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%d\t%s\t%s\n", s.ID, s.State, dash(s.Leader), replicas, s.Want, lag, bytes)
	}
}

func operationTable(w io.Writer, ops []httpapi.ClusterOperation, states bool) {
	head := "ID\tKIND\tABOUT\tSTEP\tDONE\tBY\tREASON"
	if states {
		head = "ID\tKIND\tABOUT\tSTATE\tTOOK\tBY\tREASON"
	}
	fmt.Fprintln(w, head)
	for _, op := range ops {
		if !states {
			done := "-"
			if op.TotalBytes > 0 {
				done = fmt.Sprintf("%s of %s", formatSize(op.DoneBytes), formatSize(op.TotalBytes))
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", op.ID, op.Kind, op.Subject, op.Step, done, op.By, one(op.Reason))
			continue
		}
		end := time.Now()
		if op.Ended != nil {
			end = *op.Ended
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", op.ID, op.Kind, op.Subject, op.State, end.Sub(op.Created).Round(100*time.Millisecond), op.By, one(op.Reason))
	}
}

// percent is the part of a disk that is used; - if its size is not known.
func percent(used, of int64) string {
	if of <= 0 || of >= 1<<50 {
		return "-"
	}
	return fmt.Sprintf("%d %%", 100*used/of)
}

// one is a text on one line, for a table.
func one(text string) string {
	const limit = 160
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	first = strings.TrimSpace(first)
	if more && strings.TrimSpace(rest) != "" {
		first += " …"
	}
	if r := []rune(first); len(r) > limit {
		first = string(r[:limit-1]) + "…"
	}
	return first
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newClusterOperationsCommand() *cobra.Command {
	var output string
	var running, wait bool
	cmd := &cobra.Command{
		Use:   "operations [ID]",
		Short: "List what the cluster does and did to itself, the newest first",
		Example: `  cordwood cluster operations
  cordwood cluster operations --running --output json
  cordwood cluster operations 12 --wait`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var how []func(*client.Config)
			if !wait {
				how = append(how, asIs)
			}
			a, err := newClusterAPI(cmd, how...)
			if err != nil {
				return err
			}
			if len(args) == 0 && wait {
				return usageError{fmt.Errorf("--wait needs the ID of an operation")}
			}
			var list []httpapi.ClusterOperation
			detail := func(w io.Writer) { operationTable(w, list, true) }
			if len(args) == 1 {
				detail = func(w io.Writer) {
					if len(list) == 1 { // --running may have left it out
						operationDetail(w, &list[0])
					}
				}
				id, err := operationNumber(args[0])
				if err != nil {
					return err
				}
				if wait {
					return a.wait(cmd, id)
				}
				op, err := a.operation(cmd.Context(), id)
				if err != nil {
					return err
				}
				list = []httpapi.ClusterOperation{*op}
			} else if list, err = a.operations(cmd.Context()); err != nil {
				return err
			}
			if running {
				list = slices.DeleteFunc(list, func(op httpapi.ClusterOperation) bool { return op.State != "running" })
			}
			return printList(cmd.OutOrStdout(), output, list, detail)
		},
	}
	listOutput(cmd, &output)
	cmd.Flags().BoolVar(&running, "running", false, "only those that run")
	waitFlag(cmd, &wait)
	return cmd
}

// operationDetail prints all of one operation.
func operationDetail(w io.Writer, op *httpapi.ClusterOperation) {
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, strings.ReplaceAll(text, "\n", "\n\t"))
		}
	}
	line("operation", "%d", op.ID)
	line("kind", "%s", op.Kind)
	line("about", "%s", op.Subject)
	line("from", "%s", op.From)
	line("to", "%s", op.To)
	if len(op.ToShards) > 0 {
		line("to shards", "%s", strings.Trim(fmt.Sprint(op.ToShards), "[]"))
	}
	state := op.State
	if op.Cancel && op.State == "running" {
		state += ", being cancelled"
	}
	line("state", "%s", state)
	line("step", "%s, try %d", op.Step, op.Attempt)
	if op.TotalBytes > 0 {
		line("done", "%s of %s", formatSize(op.DoneBytes), formatSize(op.TotalBytes))
	}
	if op.ETASeconds != nil {
		line("left", "about %s", time.Duration(*op.ETASeconds*float64(time.Second)).Round(time.Second))
	}
	if op.Parent != 0 {
		line("part of", "operation %d", op.Parent)
	}
	line("asked for by", "%s", op.By)
	line("begun", "%s", op.Created.Format(time.RFC3339))
	if op.Ended != nil {
		line("ended", "%s, after %s", op.Ended.Format(time.RFC3339), op.Ended.Sub(op.Created).Round(100*time.Millisecond))
	} else {
		line("last step", "%s", op.Updated.Format(time.RFC3339))
	}
	line("reason", "%s", op.Reason)
}

func operationNumber(text string) (uint64, error) {
	id, err := strconv.ParseUint(text, 10, 64)
	if err != nil || id == 0 {
		return 0, usageError{fmt.Errorf("%q is no operation: they are numbered, 'cordwood cluster operations' lists them", text)}
	}
	return id, nil
}

func newClusterCancelCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Have an operation end where it can, and undo what it had begun",
		Long: `Have an operation end at the next step where it can, and undo what it had begun. What cannot
be undone any more is finished instead.`,
		Example: "  cordwood cluster cancel 12 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := operationNumber(args[0])
			if err != nil {
				return err
			}
			a, err := newClusterAPI(cmd)
			if err != nil {
				return err
			}
			var answer httpapi.ClusterAnswer
			if err := a.call(cmd.Context(), http.MethodDelete, "/operations/"+args[0], nil, &answer); err != nil {
				return err
			}
			if !wait {
				fmt.Fprintf(cmd.OutOrStdout(), "operation %d: %s\n", id, answer.Message)
				return nil
			}
			err = a.wait(cmd, id)
			if op, e := a.operation(cmd.Context(), id); e == nil && op.State == "cancelled" {
				fmt.Fprintf(cmd.OutOrStdout(), "cancelled: %s\n", op.Reason)
				return nil
			}
			return err
		},
	}
	waitFlag(cmd, &wait)
	return cmd
}

func newClusterPauseCommand(verb, kind, short string) *cobra.Command {
	return &cobra.Command{
		Use:       verb + " rebalance",
		Short:     short,
		Example:   "  cordwood cluster " + verb + " rebalance",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"rebalance"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "rebalance" {
				return usageError{fmt.Errorf("%q cannot be %sd: only rebalance can", args[0], verb)}
			}
			return begin(cmd, &httpapi.ClusterRequest{Kind: kind}, false)
		},
	}
}

func newRebalanceCommand() *cobra.Command {
	var planOnly, yes, wait bool
	var output string
	cmd := &cobra.Command{
		Use:   "rebalance",
		Short: "Show what would even the nodes out, then do it",
		Long: `Show which replicas would be moved so that the nodes are about evenly loaded, and then move
them, and hot tables after them. More is planned when that is done, until nothing is to be
gained. --plan only shows.

The load of a node weighs how full its disk is (half), its part of all that is taken in (0.3; less
while that is below 1 MiB/s for each node) and of all replicas (0.2). Replicas move if two loads differ by more than a tenth, or two numbers of
replicas by more than a fifth of the mean and by two, to nodes whose disks are at most 80 % full,
or up to 90 % if those of the others are as full. If nothing is to be moved it says why.

The cluster does the same by itself ten minutes after nodes have come or gone, if they differ by
three times as much.`,
		Example: "  cordwood rebalance --plan\n  cordwood rebalance --yes --wait",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && !planOnly {
				return usageError{fmt.Errorf("--output %s goes with --plan: 'cordwood cluster operations --output %s' shows what is done", output, output)}
			}
			if planOnly && (yes || wait) {
				return usageError{errors.New("--plan only shows what would be done: leave it out, or leave out --yes and --wait")}
			}
			a, err := newClusterAPI(cmd)
			if err != nil {
				return err
			}
			plan := &httpapi.ClusterPlan{}
			if err := a.call(cmd.Context(), http.MethodGet, "/plan", nil, plan); err != nil {
				return err
			}
			if planOnly && output != "table" {
				return printList(cmd.OutOrStdout(), output, plan, nil)
			}
			if err := printPlan(cmd.OutOrStdout(), plan); err != nil || planOnly {
				return err
			}
			if !yes {
				question := "move them, and hot tables after them?"
				if len(plan.Moves) == 0 {
					question = "look for hot tables, and move those?"
				}
				if err := confirm(cmd, question); err != nil {
					return err
				}
			}
			return begin(cmd, &httpapi.ClusterRequest{Kind: "rebalance"}, wait)
		},
	}
	cmd.Flags().BoolVar(&planOnly, "plan", false, "only show what would be done; --output json or yaml are for programs")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	waitFlag(cmd, &wait)
	listOutput(cmd, &output)
	return cmd
}

func printPlan(w io.Writer, plan *httpapi.ClusterPlan) error {
	if plan.Paused {
		fmt.Fprintln(w, "rebalancing is paused: 'cordwood cluster resume rebalance' ends that")
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	if len(plan.Nodes) > 0 {
		fmt.Fprintln(t, "NODE\tREPLICAS\tDISK\tINGEST\tLOAD")
		for _, n := range plan.Nodes {
			fmt.Fprintf(t, "%s\t%d\t%s\t%.0f %%\t%.2f\n", n.Node, n.Replicas, percent(n.DiskUsed, n.DiskCapacity), 100*n.IngestShare, n.Load)
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
		fmt.Fprintf(w, "no replica is to be moved: %s\n", plan.Even)
		return nil
	default:
		fmt.Fprintln(w, "no replica is to be moved")
		return nil
	}
	fmt.Fprintln(t, "SHARD\tFROM\tTO\tBYTES\tREASON")
	for _, m := range plan.Moves {
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", m.Shard, dash(m.From), dash(m.To), formatSize(m.Bytes), m.Reason)
	}
	return t.Flush()
}
