package accounts

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/proto/rights"
	"cordwood/proto/schema"
)

// NewQuotaCommand returns the command quota.
func NewQuotaCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "quota", Short: "Show and change the quotas of databases",
		Long: `Show and change the quotas of databases. They are ` + strings.Join(quotaNames(), ", ") + `.
docs/quotas.md describes them.`,
		Example: "  cordwood quota set app ingest_rows_per_second=20000 stored_bytes=2TB\n  cordwood quota show --like app",
		Args:    cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	set := newCommand("set DATABASE QUOTA=VALUE...", "Set quotas of a database",
		"  cordwood quota set app ingest_bytes_per_second=10MiB query_concurrency=4", cobra.MinimumNArgs(2))
	set.RunE = func(cmd *cobra.Command, args []string) error {
		var options []string
		for _, arg := range args[1:] {
			name, value, ok := strings.Cut(arg, "=")
			if !ok {
				return fmt.Errorf("%q is no quota with a value: write it like tables=100", arg)
			}
			options = append(options, cli.Literal(quotaName(name))+" = "+cli.Literal(value))
		}
		return change(cmd, "ALTER DATABASE "+rights.QuoteName(args[0])+" SET "+strings.Join(options, ", "))
	}
	unset := newCommand("unset DATABASE QUOTA...", "Remove quotas of a database", "  cordwood quota unset app tables",
		cobra.MinimumNArgs(2))
	unset.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, name := range args[1:] {
			names = append(names, cli.Literal(quotaName(name)))
		}
		return change(cmd, "ALTER DATABASE "+rights.QuoteName(args[0])+" UNSET "+strings.Join(names, ", "))
	}
	show := list("show", "Show the quotas of databases, and how much of them is used",
		"  cordwood quota show --like 'team%'", "SHOW QUOTAS", cobra.NoArgs)
	cmd.AddCommand(show, set, unset)
	return cmd
}

// quotaName returns the name of the option of a quota, whose prefix may be missing.
func quotaName(name string) string {
	return schema.QuotaPrefix + strings.TrimPrefix(strings.ToLower(name), schema.QuotaPrefix)
}

// quotaNames returns the names of all quotas without their prefix.
func quotaNames() []string {
	names := schema.QuotaNames()
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, schema.QuotaPrefix)
	}
	return names
}
