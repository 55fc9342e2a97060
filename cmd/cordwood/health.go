package main

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

// newHealthCommand returns a health check for containers without a shell or curl.
func newHealthCommand() *cobra.Command {
	var ready bool
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Check whether a server is alive, or ready",
		Long: `Check whether a server is alive, or with --ready whether it is ready. The exit status is 0 if it is.
Otherwise it is 1, and the output says what the server waits for. Neither check needs a user.`,
		Example: "  cordwood health\n  cordwood health --ready --server http://10.0.0.7:4000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, err := cli.ServersOf(cmd)
			if err != nil {
				return err
			}
			// Do not retry: the caller repeats the check.
			c, err := client.New(client.Config{Servers: servers, UserAgent: "cordwood-cli", Attempts: 1})
			if err != nil {
				return cli.WrongUsage(err)
			}
			path := "/health"
			if ready {
				path = "/ready"
			}
			resp, err := c.Do(cmd.Context(), client.Request{Method: http.MethodGet, Path: path})
			if err != nil {
				return err
			}
			_ = resp.Body.Close()
			fmt.Fprintln(cmd.OutOrStdout(), "ok")
			return nil
		},
	}
	cmd.Flags().BoolVar(&ready, "ready", false,
		"check that the server can serve requests, not only that its process is alive")
	return cmd
}
