package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// newAdminCommand returns the client of the administrator's port. Hooks in containers without a
// shell or curl use it too.
func newAdminCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "admin",
		Short: "Prepare one node for its stop, set the level of its log",
		Long: `Send requests to the administrator's port of one node (the flag --admin-addr of 'cordwood serve').
The port needs no user. To move the replicas of a node to other nodes, use 'cordwood node drain'.`,
		Example: "  cordwood admin drain --wait 10s\n  cordwood admin log-level debug",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentPreRunE = cli.CheckEnvironment
	cmd.PersistentFlags().String("admin", cli.Env("CORDWOOD_ADMIN", "http://127.0.0.1:4002"),
		"`URL` of the administrator's port (environment: CORDWOOD_ADMIN)")
	cmd.AddCommand(newAdminDrainCommand(), newAdminUndrainCommand(), newAdminLogLevelCommand())
	return cmd
}

func newAdminDrainCommand() *cobra.Command {
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Make a node that is about to stop unready, and transfer its leaderships",
		Long: `Make a node that is about to stop unready, so that load balancers send it no new clients, and
transfer its leaderships to other nodes. The command ends after --wait. The node serves requests
until it stops. 'cordwood admin undrain' makes it ready again.`,
		Example: "  cordwood admin drain --wait 10s",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return askAdmin(cmd, client.Request{
				Method: http.MethodPost,
				Path:   "/drain",
				Query:  url.Values{"wait": {wait.String()}},
			})
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 5*time.Second, "time for load balancers to notice, up to 10m")
	return cmd
}

func newAdminUndrainCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "undrain",
		Short:   "Make a node ready again",
		Example: "  cordwood admin undrain",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return askAdmin(cmd, client.Request{Method: http.MethodDelete, Path: "/drain"})
		},
	}
}

func newAdminLogLevelCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "log-level [LEVEL]",
		Short:   "Show the level of the log, or set it until the node stops: debug, info, warn or error",
		Example: "  cordwood admin log-level\n  cordwood admin log-level debug",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := client.Request{Method: http.MethodGet, Path: "/log-level"}
			if len(args) > 0 {
				r.Method, r.Body = http.MethodPut, []byte(args[0])
			}
			return askAdmin(cmd, r)
		},
	}
}

// askAdmin sends a request to the administrator's port, without retries, and prints the answer.
func askAdmin(cmd *cobra.Command, r client.Request) error {
	server, err := cmd.Flags().GetString("admin")
	if err != nil {
		return err
	}
	c, err := client.New(client.Config{
		Servers:   []string{server},
		Flag:      "--admin",
		Serve:     "cordwood serve --admin-addr 127.0.0.1:4002",
		UserAgent: "cordwood-cli",
		Attempts:  1,
	})
	if err != nil {
		return cli.WrongUsage(err)
	}
	resp, err := c.Do(cmd.Context(), r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.Server(), err)
	}
	fmt.Fprintln(cmd.OutOrStdout(), strings.TrimSpace(string(text)))
	return nil
}
