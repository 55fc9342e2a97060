package main

import (
	"context"
	"encoding/json"
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

const (
	// completionWait is the time that a shell waits for names from the server.
	completionWait = time.Second
	// maxCompletionAnswer is the maximum number of bytes that are read from an answer.
	maxCompletionAnswer = 4 << 20
)

// asking runs a short request to the server of a command. Without an answer there are no
// completions: a shell cannot show errors.
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

// namesBy returns the values in the first column of a statement's rows.
func namesBy(cmd *cobra.Command, sql string) []string {
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		return cli.FirstColumn(ctx, c, sql)
	})
}

func databaseNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT schema_name FROM information_schema.schemata ORDER BY 1")
}

// tableNames returns the tables of the database of --db, or of the default database of the user.
func tableNames(cmd *cobra.Command) []string {
	db := ""
	if f := cmd.Flag("db"); f != nil {
		db = f.Value.String()
	}
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		cmd.SetContext(ctx)
		name, err := cli.DatabaseName(cmd, c, db)
		if err != nil {
			return nil, err
		}
		return cli.FirstColumn(ctx, c, "SELECT table_name FROM information_schema.tables WHERE table_schema = "+
			cli.Literal(name)+" ORDER BY 1")
	})
}

func nodeNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT DISTINCT name FROM svc_private.cluster_nodes ORDER BY 1")
}

func shardNames(cmd *cobra.Command) []string {
	return namesBy(cmd, "SELECT DISTINCT shard_id FROM svc_private.shards ORDER BY 1")
}

// operationNames lists the ids of operations of the cluster, the newest first; with running, only of
// operations that have not ended.
func operationNames(running bool) func(*cobra.Command) []string {
	sql := "SELECT operation_id FROM svc_private.operations WHERE scope = 'cluster'"
	if running {
		sql += " AND state = 'running'"
	}
	return func(cmd *cobra.Command) []string { return namesBy(cmd, sql+" ORDER BY 1 DESC") }
}

// storedPipeline is the part of a pipeline's list entry that completion needs.
type storedPipeline struct {
	Name     string `json:"name"`
	Versions []struct {
		Version string `json:"version"`
	} `json:"versions"`
}

// storedPipelines returns all pipelines, or only one.
func storedPipelines(ctx context.Context, c *client.Client, only string) ([]storedPipeline, error) {
	r := client.Request{Method: http.MethodGet, Path: "/v1/pipelines"}
	if only != "" {
		r.Query = url.Values{"name": {only}}
	}
	resp, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answer struct {
		Pipelines []storedPipeline `json:"pipelines"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxCompletionAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("reading the list of pipelines: %w", err)
	}
	return answer.Pipelines, nil
}

// pipelineNames returns the pipelines that a request may use.
func pipelineNames(cmd *cobra.Command) []string {
	return append([]string{"svc_identity"}, storedNames(cmd)...)
}

// storedNames returns the pipelines that have versions.
func storedNames(cmd *cobra.Command) []string {
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := storedPipelines(ctx, c, "")
		var names []string
		for _, p := range list {
			names = append(names, p.Name)
		}
		return names, err
	})
}

// versionsOf returns the versions of a pipeline, the newest first, with a T in place of the space,
// so that they need no quotes in a shell.
func versionsOf(cmd *cobra.Command, name string) []string {
	return asking(cmd, func(ctx context.Context, c *client.Client) ([]string, error) {
		list, err := storedPipelines(ctx, c, name)
		var versions []string
		for _, p := range list {
			for _, v := range p.Versions {
				versions = append(versions, strings.Replace(v.Version, " ", "T", 1))
			}
		}
		return versions, err
	})
}
