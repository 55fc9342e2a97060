package cluster

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
	"cordwood/router/httpapi/clusterapi"
)

func operationTable(w io.Writer, ops []clusterapi.Operation, states bool, color cli.Palette) {
	head := "ID\tKIND\tABOUT\tSTEP\tDONE\tBY\tREASON"
	if states {
		head = "ID\tKIND\tABOUT\t" + color.Heading("STATE") + "\tTOOK\tBY\tREASON"
	}
	fmt.Fprintln(w, head)
	for _, op := range ops {
		if !states {
			done := "-"
			if op.TotalBytes > 0 {
				done = fmt.Sprintf("%s of %s", cli.FormatSize(op.DoneBytes), cli.FormatSize(op.TotalBytes))
			}
			fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", op.ID, op.Kind, op.Subject, op.Step, done, op.By,
				cli.FirstLine(op.Reason))
			continue
		}
		end := time.Now()
		if op.Ended != nil {
			end = *op.Ended
		}
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", op.ID, op.Kind, op.Subject, color.State(op.State),
			end.Sub(op.Created).Round(100*time.Millisecond), op.By, cli.FirstLine(op.Reason))
	}
}

func newOperationsCommand() *cobra.Command {
	var output string
	var running, wait bool
	cmd := &cobra.Command{
		Use:   "operations [ID]",
		Short: "List the operations of the cluster, the newest first",
		Example: `  cordwood cluster operations
  cordwood cluster operations --running --output json
  cordwood cluster operations 12 --wait`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			color, err := cli.WantsColor(cmd)
			if err != nil {
				return err
			}
			var how []func(*client.Config)
			if !wait {
				how = append(how, noRetries)
			}
			a, err := newAPI(cmd, how...)
			if err != nil {
				return err
			}
			if len(args) == 0 && wait {
				return cli.WrongUsage(fmt.Errorf("--wait needs the ID of an operation"))
			}
			var list []clusterapi.Operation
			detail := func(w io.Writer) { operationTable(w, list, true, cli.Palette(color)) }
			if len(args) == 1 {
				detail = func(w io.Writer) {
					if len(list) == 1 { // --running may have filtered it out
						operationDetail(w, &list[0], cli.Palette(color))
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
				list = []clusterapi.Operation{*op}
			} else if list, err = a.operations(cmd.Context()); err != nil {
				return err
			}
			if running {
				list = slices.DeleteFunc(list, func(op clusterapi.Operation) bool { return op.State != "running" })
			}
			return cli.PrintList(cmd.OutOrStdout(), output, list, detail)
		},
	}
	cli.ListOutput(cmd, &output)
	cli.ColorFlag(cmd, "states")
	cmd.Flags().BoolVar(&running, "running", false, "list only running operations")
	waitFlag(cmd, &wait)
	return cmd
}

// operationDetail prints one operation completely.
func operationDetail(w io.Writer, op *clusterapi.Operation, color cli.Palette) {
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
	state := color.State(op.State)
	if op.Cancel && op.State == "running" {
		state += ", being cancelled"
	}
	line("state", "%s", state)
	line("step", "%s, try %d", op.Step, op.Attempt)
	if op.TotalBytes > 0 {
		line("done", "%s of %s", cli.FormatSize(op.DoneBytes), cli.FormatSize(op.TotalBytes))
	}
	if op.ETASeconds != nil && op.DoneBytes < op.TotalBytes {
		line("left", "about %s", time.Duration(*op.ETASeconds*float64(time.Second)).Round(time.Second))
	}
	if op.Parent != 0 {
		line("part of", "operation %d", op.Parent)
	}
	line("requested by", "%s", op.By)
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
		return 0, cli.WrongUsage(fmt.Errorf("%q is not the number of an operation: 'cordwood cluster operations' lists them",
			text))
	}
	return id, nil
}

func newCancelCommand() *cobra.Command {
	var wait bool
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "Cancel an operation at its next safe step, and undo its changes",
		Long: `Stop an operation at its next step where that is possible, and undo its changes. A change that
cannot be undone is completed instead.`,
		Example: "  cordwood cluster cancel 12 --wait",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := operationNumber(args[0])
			if err != nil {
				return err
			}
			a, err := newAPI(cmd)
			if err != nil {
				return err
			}
			var answer clusterapi.Answer
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

func newPauseCommand(verb, kind, short string) *cobra.Command {
	return &cobra.Command{
		Use:       verb + " rebalance",
		Short:     short,
		Example:   "  cordwood cluster " + verb + " rebalance",
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"rebalance"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if args[0] != "rebalance" {
				return cli.WrongUsage(fmt.Errorf("%q cannot be %sd: only rebalance can", args[0], verb))
			}
			return begin(cmd, &clusterapi.Request{Kind: kind}, false)
		},
	}
}
