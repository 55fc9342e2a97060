package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cordwood/cmd/cordwood/cli"
	"cordwood/cmd/cordwood/client"
)

const (
	// completionWait is how long a shell waits for names of the server.
	completionWait = time.Second
	// maxCompletionAnswer bounds what is read of an answer, in bytes.
	maxCompletionAnswer = 4 << 20
)

// completeArguments tells the shell, which asks by a hidden command of the scripts, what
// arguments and values of flags can be: those that are listed in help, and what the server
// that the flags name has.
func completeArguments(root *cobra.Command) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { completeFlag(cmd, f) })
		if complete := argumentCompletion(cmd); complete != nil && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
}

// completeFlag completes the values of a flag, if it is known what they can be.
func completeFlag(cmd *cobra.Command, f *pflag.Flag) {
	var names func(*cobra.Command) []string
	switch f.Name {
	case "db":
		names = databaseNames
	case "table":
		names = tableNames
	case "pipeline":
		names = pipelineNames
	case "from", "to":
		if parent := cmd.Parent(); parent != nil && parent.Name() == "shard" {
			names = nodeNames
		} else if parent != nil && parent.Name() == "table" {
			names = shardNames
		}
	default:
		if words := valuesInHelp(f); words != nil {
			names = func(*cobra.Command) []string { return words }
		}
	}
	if names == nil {
		return
	}
	// The error says that the flag has a function already.
	_ = cmd.RegisterFlagCompletionFunc(f.Name, func(cmd *cobra.Command, _ []string,
		typed string,
	) ([]string, cobra.ShellCompDirective) {
		return cli.Beginning(names(cmd), typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// enumerated are the values of flags that take one of a few words.
var enumerated = map[string][]string{
	"consistency": {"linear", "any"},
	"on-reject":   {"drop", "store"},
	"grant":       {"environment", "network", "files"},
	"log-level":   {"debug", "info", "warn", "error"},
	"log-format":  {"text", "json"},
	"color":       {"auto", "always", "never"},
	"roles":       {"router", "meta", "shard"},
}

// valuesInHelp returns the values of a flag that takes one of a few words: those that its help
// names for --output and --format, as "FORMAT: table, json or yaml".
func valuesInHelp(f *pflag.Flag) []string {
	if words, ok := enumerated[f.Name]; ok {
		return words
	}
	if f.Name != "output" && f.Name != "format" {
		return nil
	}
	_, text, ok := strings.Cut(f.Usage, ": ")
	if !ok {
		return nil
	}
	text, _, _ = strings.Cut(text, ";")
	text, _, _ = strings.Cut(text, " (")
	var words []string
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		if word != "or" && word != "and" {
			words = append(words, word)
		}
	}
	return words
}

// argumentCompletion completes the arguments of a command, as its line of usage names them.
func argumentCompletion(cmd *cobra.Command) func(*cobra.Command, []string,
	string) ([]string, cobra.ShellCompDirective) {
	_, line, _ := strings.Cut(cmd.Use, " ")
	words := strings.Fields(strings.NewReplacer("(", "", ")", "", "[", "", "]", "", "|", "").Replace(line))
	if len(words) == 0 {
		return nil
	}
	parent := ""
	if p := cmd.Parent(); p != nil {
		parent = p.Name()
	}
	var names func(*cobra.Command) []string
	switch {
	case words[0] == "TABLE":
		names = tableNames
	case words[0] == "NAME" && parent == "pipeline" && cmd.Name() != "put":
		names = pipelineNames
	case words[0] == "NODE":
		names = nodeNames
	case words[0] == "SHARD":
		names = shardNames
	case words[0] == "ID" && parent == "cluster":
		names = operationNames(cmd.Name() == "cancel")
	default:
		return nil
	}
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			if strings.Contains(line, "FILE") {
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.Beginning(names(cmd), typed), cobra.ShellCompDirectiveNoFileComp
	}
}

// asking has a short time for a question to the server of a command; without an answer there
// is nothing to complete, and a shell has no place for errors.
func asking(cmd *cobra.Command, ask func(ctx context.Context, c *client.Client) ([]string, error)) []string {
	if cmd.Flag("server") == nil {
		return nil
	}
	c, err := cli.NewClient(cmd, func(string) {}, func(c *client.Config) { c.Attempts = 1 })
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), completionWait)
	defer cancel()
	names, err := ask(ctx, c)
	if err != nil {
		return nil
	}
	return names
}

// namesBy completes with the first column of the rows of a statement.
func namesBy(cmd *cobra.Command, sql string) []string {
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		return cli.FirstColumn(ctx, c, sql)
	})
}

func databaseNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT schema_name FROM information_schema.schemata ORDER BY 1")
}

// tableNames returns the tables of the database that --db names.
func tableNames(cmd *cobra.Command) []string {
	db := "public"
	if f := cmd.Flag("db"); f != nil && f.Value.String() != "" {
		db = f.Value.String()
	}
	return namesBy(cmd, "SELECT table_name FROM information_schema.tables WHERE table_schema = "+cli.Literal(db)+
		" ORDER BY 1")
}

func nodeNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT DISTINCT name FROM svc_private.cluster_nodes ORDER BY 1")
}

func shardNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT DISTINCT shard_id FROM svc_private.shards ORDER BY 1")
}

// operationNames lists the ids of operations of the cluster, the newest first; with running, only of those
// that have not ended.
func operationNames(running bool) func(*cobra.Command) []string {
	sql := "SELECT operation_id FROM svc_private.operations WHERE scope = 'cluster'"
	if running {
		sql += " AND state = 'running'"
	}
	return func(cmd *cobra.Command) []string { return namesBy(cmd, sql+" ORDER BY 1 DESC") }
}

func pipelineNames(cmd *cobra.Command) []string {
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		resp, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: "/v1/pipelines"})
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		var answer struct {
			Pipelines []struct {
				Name string `json:"name"`
			} `json:"pipelines"`
		}
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxCompletionAnswer)).Decode(&answer); err != nil {
			return nil, fmt.Errorf("reading the list of pipelines: %w", err)
		}
		names := []string{"svc_identity"}
		for _, p := range answer.Pipelines {
			names = append(names, p.Name)
		}
		return names, nil
	})
}
