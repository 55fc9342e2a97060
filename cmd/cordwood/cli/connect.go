package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/node/config"
	tokens "cordwood/router/access/token"
)

const defaultServer = "http://127.0.0.1:4000"

// AddClientFlags adds the flags --server, --user and --token to a command and its subcommands.
func AddClientFlags(cmd *cobra.Command) {
	servers := &serverList{urls: splitServers(Env("CORDWOOD_SERVER", defaultServer))}
	cmd.PersistentFlags().Var(servers, "server", "`URL` of the server; several nodes of a cluster separated by commas or "+
		"by repeating the flag: if one does not answer, the next one is used (environment: CORDWOOD_SERVER)")
	cmd.PersistentFlags().String("user", os.Getenv("CORDWOOD_USER"), "`NAME:PASSWORD` (environment: CORDWOOD_USER)")
	cmd.PersistentFlags().String("token", os.Getenv("CORDWOOD_TOKEN"), "`TOKEN` in place of --user (environment: "+
		"CORDWOOD_TOKEN)")
	// Secrets must not be shown as defaults in help texts.
	cmd.PersistentFlags().Lookup("user").DefValue = ""
	cmd.PersistentFlags().Lookup("token").DefValue = ""
	cmd.PersistentFlags().Lookup("server").DefValue = defaultServer
	if cmd.Name() != "doctor" { // doctor reports it with the settings
		cmd.PersistentPreRunE = CheckEnvironment
	}
}

// CheckEnvironment returns an error if there are unknown environment variables that start with CORDWOOD_: with a
// mistyped CORDWOOD_SERVER the command would connect to another server than intended.
func CheckEnvironment(*cobra.Command, []string) error {
	if err := config.CheckEnvironment(os.Environ()); err != nil {
		return WrongUsage(err)
	}
	return nil
}

// Env returns the value of the environment variable name, or fallback if it is not set or empty.
func Env(name, fallback string) string {
	if v, ok := os.LookupEnv(name); ok && v != "" {
		return v
	}
	return fallback
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

func (l *serverList) String() string { return strings.Join(l.urls, ",") }

func (l *serverList) Type() string { return "URL" }

// Set adds servers. The flag replaces the value of the environment; a repeated flag adds to it.
func (l *serverList) Set(text string) error {
	if !l.set {
		l.urls, l.set = nil, true
	}
	l.urls = append(l.urls, splitServers(text)...)
	return nil
}

// ServersOf returns the URLs of the flag --server of a command.
func ServersOf(cmd *cobra.Command) ([]string, error) {
	list, ok := cmd.Flag("server").Value.(*serverList)
	if !ok {
		return nil, fmt.Errorf("the command %s has no flag --server", cmd.CommandPath())
	}
	return list.urls, nil
}

// UserOf returns NAME:PASSWORD from the flags of AddClientFlags. For a token, the name is token, which the server
// ignores. A flag has precedence over environment variables.
func UserOf(cmd *cobra.Command) (string, error) {
	user, err := cmd.Flags().GetString("user")
	if err != nil {
		return "", err
	}
	token, err := cmd.Flags().GetString("token")
	if err != nil {
		return "", err
	}
	byUser, byToken := cmd.Flags().Changed("user"), cmd.Flags().Changed("token")
	switch {
	case token == "" || byUser && !byToken:
		return user, nil
	case user != "" && byUser == byToken:
		return "", WrongUsage(errors.New("give a user or a token, not both: --user and CORDWOOD_USER, or --token and " +
			"CORDWOOD_TOKEN"))
	}
	if _, ok := tokens.Parse(token); !ok {
		return "", WrongUsage(errors.New("the value of --token or CORDWOOD_TOKEN is not a token: it has the form " +
			"cw_ID_SECRET; copy all of what CREATE TOKEN showed"))
	}
	return "token:" + token, nil
}

// NewClient makes a client from the flags of AddClientFlags. It calls note with messages for the
// user while a request is retried; change edits the configuration.
func NewClient(cmd *cobra.Command, note func(text string), change ...func(*client.Config)) (*client.Client, error) {
	servers, err := ServersOf(cmd)
	if err != nil {
		return nil, err
	}
	user, err := UserOf(cmd)
	if err != nil {
		return nil, err
	}
	cfg := client.Config{
		Servers: servers, User: user, UserAgent: "cordwood-cli",
		OnRetry: (&retryNotes{note: note, now: time.Now}).tell,
	}
	for _, f := range change {
		f(&cfg)
	}
	c, err := client.New(cfg)
	if err != nil {
		return nil, WrongUsage(err)
	}
	return c, nil
}
