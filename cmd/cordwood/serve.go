package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/cli"
	"cordwood/node"
	"cordwood/node/config"
)

func newServeCommand() *cobra.Command {
	var cfg config.Config
	var file string
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a server",
		Long: `Run a server with its data in --data-dir. By default it has all roles in one process and is a
cluster of its own. With --seeds it is a node of a cluster of several.

Every setting is a flag, an environment variable (--http-addr is CORDWOOD_HTTP_ADDR) and a key of
the YAML file given by --config (http.addr). A flag overrides the environment, which overrides the
file, which overrides the default. Unknown names are refused. This includes environment variables
that begin with CORDWOOD_, except those that Kubernetes sets for services.`,
		Example: `  cordwood serve
  cordwood serve --data-dir /var/lib/cordwood --http-addr 0.0.0.0:4000 --user-file users
  cordwood serve --seeds 10.0.0.1:4001,10.0.0.2:4001,10.0.0.3:4001 --meta-bootstrap-expect 3 \
    --replication 3 --rpc-addr 10.0.0.1:4001 --http-addr 10.0.0.1:4000 --user-file users \
    --cluster-secret-file secret
  CORDWOOD_SHARDS=8 cordwood serve --config cordwood.yaml --print-config`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Only the server's settings, without the flags of other commands.
			fs := cmd.LocalNonPersistentFlags()
			if err := errors.Join(config.CheckEnvironment(os.Environ()), config.Load(fs, file, os.LookupEnv)); err != nil {
				return cli.WrongUsage(err)
			}
			if err := cfg.Validate(); err != nil {
				return cli.WrongUsage(err)
			}
			if printConfig {
				text, err := config.YAML(fs)
				if err != nil {
					return err
				}
				_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				return err
			}
			text, err := config.TOML(fs)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			err = node.Run(ctx, &cfg, node.Process{
				Stderr: os.Stderr, ConfigText: text, Version: version(), Reload: hangups(),
			})
			if wrong := (*node.SettingsError)(nil); errors.As(err, &wrong) {
				return cli.WrongUsage(err)
			}
			return err
		},
	}
	cfg.Flags(cmd.Flags())
	cmd.Flags().StringVar(&file, "config", os.Getenv(config.EnvName("config")), "YAML file of settings")
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the effective configuration as YAML and exit")
	groupSettings(cmd)
	return cmd
}

// hangups returns a channel that receives SIGHUP, at which the server reads its users again.
func hangups() <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}
