package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cordwood/cmd/cordwood/client"
	"cordwood/proto/schema"
)

// Defaults are what the server uses for a user or token if a request names no database, table or pipeline.
type Defaults struct {
	Database string `json:"database"`
	Table    string `json:"table"`
	Pipeline string `json:"pipeline"`
}

// maxDefaults is the maximum number of bytes that are read from the server's answer about the sender. It has all
// grants.
const maxDefaults = 16 << 20

// AskDefaults asks the server for the defaults of the user or token that c sends.
func AskDefaults(ctx context.Context, c *client.Client) (d Defaults, err error) {
	resp, err := c.Do(ctx, client.Request{
		Method: http.MethodGet, Path: "/v1/access/whoami", Reads: true, Within: 30 * time.Second,
	})
	if err != nil {
		return d, fmt.Errorf("asking for the default database of the user: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxDefaults)).Decode(&d); err != nil {
		return d, fmt.Errorf("reading the server's answer about the user: %w", err)
	}
	return d, nil
}

// DatabaseName returns db, the value of --db, or without one the default database of the user or token of a command. It
// is for commands that need the name: in other requests the parameter is left out, and the server decides.
func DatabaseName(cmd *cobra.Command, c *client.Client, db string) (string, error) {
	if db != "" {
		return db, nil
	}
	user, err := UserOf(cmd)
	if err != nil || user == "" {
		return schema.DefaultDatabase, err
	}
	d, err := AskDefaults(cmd.Context(), c)
	return cmp.Or(d.Database, schema.DefaultDatabase), err
}

// SendsToken reports whether a command sends a token.
func SendsToken(cmd *cobra.Command) bool {
	user, err := UserOf(cmd)
	return err == nil && strings.HasPrefix(user, "token:")
}

// SetParameter sets a parameter of a query string, and leaves it out if the value is empty.
func SetParameter(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}
