package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/node"
)

const defaultServer = "http://127.0.0.1:4000"

// addClientFlags gives a command that talks to a server, and its subcommands, the
// flags that say to which one and as whom.
func addClientFlags(cmd *cobra.Command) {
	servers := &serverList{urls: splitServers(envOr("CORDWOOD_SERVER", defaultServer))}
	cmd.PersistentFlags().Var(servers, "server", "`URL` of the server; of several nodes of a cluster, with commas or repeated: if one is not there the next one is asked (environment: CORDWOOD_SERVER)")
	cmd.PersistentFlags().String("user", os.Getenv("CORDWOOD_USER"), "`NAME:PASSWORD` (environment: CORDWOOD_USER)")
	// A password must not show up as a default in help texts.
	cmd.PersistentFlags().Lookup("user").DefValue = ""
	cmd.PersistentFlags().Lookup("server").DefValue = defaultServer
	if cmd.Name() != "doctor" { // which reports it with the settings
		cmd.PersistentPreRunE = checkEnvironment
	}
}

// checkEnvironment refuses variables that begin as ours do and are none: the command would go to
// another server than was meant.
func checkEnvironment(*cobra.Command, []string) error {
	if err := node.CheckEnvironment(os.Environ()); err != nil {
		return usageError{err}
	}
	return nil
}

func envOr(name, otherwise string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return otherwise
}

// serverList is the value of --server.
type serverList struct {
	urls []string
	set  bool // by the flag, rather than by the environment
}

func splitServers(text string) []string {
	var out []string
	for _, url := range strings.Split(text, ",") {
		if url = strings.TrimSpace(url); url != "" {
			out = append(out, url)
		}
	}
	return out
}

// String implements pflag.Value.
func (l *serverList) String() string { return strings.Join(l.urls, ",") }

// Type implements pflag.Value.
func (l *serverList) Type() string { return "URL" }

// Set implements pflag.Value. The flag takes the place of the environment, and adds to
// itself when it is repeated.
func (l *serverList) Set(text string) error {
	if !l.set {
		l.urls, l.set = nil, true
	}
	l.urls = append(l.urls, splitServers(text)...)
	return nil
}

// serversOf returns what --server of a command says.
func serversOf(cmd *cobra.Command) ([]string, error) {
	list, ok := cmd.Flag("server").Value.(*serverList)
	if !ok {
		return nil, fmt.Errorf("the command %s has no flag --server", cmd.CommandPath())
	}
	return list.urls, nil
}

// newClient makes a client from the flags that all commands share. note is told what a
// person should know while a request waits.
func newClient(cmd *cobra.Command, note func(text string), change ...func(*client.Config)) (*client.Client, error) {
	servers, err := serversOf(cmd)
	if err != nil {
		return nil, err
	}
	user, err := cmd.Flags().GetString("user")
	if err != nil {
		return nil, err
	}
	cfg := client.Config{
		Servers: servers, User: user, UserAgent: "cordwood-cli",
		OnRetry: func(cause error, wait time.Duration) {
			if wait == 0 {
				note(fmt.Sprintf("%v; trying the next server", cause))
			} else {
				note(fmt.Sprintf("%v; trying again in %v", cause, wait.Round(100*time.Millisecond)))
			}
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}
