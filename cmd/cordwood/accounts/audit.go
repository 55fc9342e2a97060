package accounts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/auditrow"
	"cordwood/proto/nearest"
)

// NewAuditCommand returns the command audit.
func NewAuditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed what, and check that no record was changed or removed",
		Example: "  cordwood audit tail --since 24h\n  cordwood audit verify",
	}
	cmd.AddCommand(newAuditTail(), newAuditVerify())
	return cmd
}

// mostRecords is the maximum number of records that the command audit tail shows.
const mostRecords = 100_000

func newAuditTail() *cobra.Command {
	var output, principal, action, outcome string
	var since time.Duration
	var most int
	cmd := newCommand("tail", "Show the newest records of changes, the newest last",
		"  cordwood audit tail\n  cordwood audit tail --since 24h --principal ann --outcome refused", cobra.NoArgs)
	cmd.Long = cmd.Short + `.

The records are in the table svc_private.audit. Reading it needs the privilege AUDIT. 'cordwood tail svc_private.audit'
follows new records.`
	cli.ListOutput(cmd, &output)
	f := cmd.Flags()
	f.DurationVar(&since, "since", 0, "only records of this `TIME`, for example 24h; 0: all")
	f.StringVar(&principal, "principal", "", "only changes by this `USER`")
	f.StringVar(&action, "action", "", "only this `ACTION`, for example 'drop table'")
	f.StringVar(&outcome, "outcome", "", "only this `OUTCOME`: ok, refused or failed")
	f.IntVarP(&most, "lines", "n", 20, "maximum number of records")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if most < 1 || most > mostRecords || since < 0 {
			return fmt.Errorf("--lines must be from 1 to %d, and --since not negative", mostRecords)
		}
		if outcome != "" && !slices.Contains(outcomes, outcome) {
			return cli.WrongUsage(fmt.Errorf("--outcome %s: use ok, refused or failed%s", outcome,
				nearest.DidYouMean("; ", outcome, outcomes)))
		}
		if action != "" {
			if err := checkAction(cmd, action); err != nil {
				return err
			}
		}
		var where []string
		for column, value := range map[string]string{"principal": principal, "action": action, "outcome": outcome} {
			if value != "" {
				where = append(where, column+" = "+cli.Literal(value))
			}
		}
		if since > 0 {
			where = append(where, fmt.Sprintf("ts >= now() - INTERVAL '%d milliseconds'", since.Milliseconds()))
		}
		filter := ""
		if len(where) > 0 {
			filter = " WHERE " + strings.Join(where, " AND ")
		}
		return printRows(cmd, output, fmt.Sprintf("SELECT ts, principal, address, action, CASE WHEN database IS NULL THEN "+
			"object WHEN object IS NULL THEN database ELSE database || '.' || object END AS object, outcome, "+
			"coalesce(message, statement) AS details FROM (SELECT * FROM svc_private.audit%s ORDER BY ts DESC LIMIT %d) "+
			"ORDER BY ts", filter, most))
	}
	return cmd
}

// outcomes are the outcomes of changes.
var outcomes = []string{"ok", "refused", "failed"}

// checkAction returns an error if no record has an action, and one has an action with a similar name.
func checkAction(cmd *cobra.Command, action string) error {
	c, err := cli.NewClient(cmd, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
	if err != nil {
		return err
	}
	known, err := cli.FirstColumn(cmd.Context(), c, "SELECT DISTINCT action FROM svc_private.audit ORDER BY 1")
	if err != nil || slices.Contains(known, action) {
		return err
	}
	if like := nearest.DidYouMean("; ", action, known); like != "" {
		return cli.WrongUsage(fmt.Errorf("--action %q: no record has this action%s", action, like))
	}
	return nil
}

// chains checks the chains of records.
type chains struct {
	records, nodes, restarts int
	last                     auditrow.Row
	broken                   []string
}

// add checks the next record. The records come by node and id.
func (c *chains) add(r auditrow.Row) {
	c.records++
	switch {
	case c.nodes == 0 || r.Node != c.last.Node:
		c.nodes++ // the records before the first one have expired
	case r.Link(c.last.Chain) == r.Chain:
	case r.Link("") == r.Chain:
		c.restarts++
	case len(c.broken) < maxBroken:
		c.broken = append(c.broken, fmt.Sprintf("node %s: record %d does not follow record %d: one of them was changed, or "+
			"records between them were removed", r.Node, r.ID, c.last.ID))
	}
	c.last = r
}

// maxBroken is how many faults are shown.
const maxBroken = 20

func newAuditVerify() *cobra.Command {
	cmd := newCommand("verify", "Check that no record was changed or removed",
		"  cordwood audit verify", cobra.NoArgs)
	cmd.Long = cmd.Short + `.

Each record has a hash of itself and of the record that its node made before it. The command reads all records and
computes the hashes again. It does not notice if the oldest or the newest records of a node are missing. The exit
status is 1 if a record was changed or removed.`
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var c chains
		err := run(cmd, "SELECT epoch_ns(ts) AS ts, * EXCLUDE (ts) FROM svc_private.audit ORDER BY node, id, 1", true,
			func(row []byte) error {
				var r auditrow.Row
				if err := json.Unmarshal(row, &r); err != nil {
					return fmt.Errorf("reading the server's answer: %w", err)
				}
				c.add(r)
				return nil
			})
		if err != nil {
			return err
		}
		out := cmd.OutOrStdout()
		for _, text := range c.broken {
			fmt.Fprintln(out, text)
		}
		if c.restarts > 0 {
			fmt.Fprintf(out, "%d times a node began anew, with a new data folder\n", c.restarts)
		}
		if len(c.broken) > 0 {
			return errors.New("audit records were changed or removed")
		}
		fmt.Fprintf(out, "%d records of %d nodes follow each other\n", c.records, c.nodes)
		return nil
	}
	return cmd
}
