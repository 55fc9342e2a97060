package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// otherFlags maps flags of other programs to cordwood's flags. A flag has several if commands have different ones.
var otherFlags = map[string]string{
	"database": "db", "dbname": "db", "d": "db",
	"host": "server", "url": "server", "addr": "server", "address": "server", "endpoint": "server", "H": "server",
	"h": "server", "p": "server", "port": "server http-addr",
	"username": "user", "password": "user", "u": "user", "U": "user",
	"out": "output", "format": "output", "F": "output",
	"tz": "timezone", "time-zone": "timezone",
	"max-time": "timeout", "t": "table", "into": "table",
	"batch-size": "batch", "jobs": "parallel", "j": "parallel", "workers": "parallel", "concurrency": "parallel",
	"retry": "forever", "data": "data-dir", "dir": "data-dir", "datadir": "data-dir",
	"listen": "http-addr", "bind": "http-addr", "verbose": "log-level", "v": "log-level",
	"n": "limit", "from": "since", "start": "since", "end": "until",
	"force": "yes", "f": "file", "y": "yes", "dry-run": "plan",
}

// outputs are flags of other programs that correspond to values of --output.
var outputs = map[string]bool{"json": true, "yaml": true, "csv": true, "ndjson": true, "table": true}

// statements are flags of other programs with a statement as the value, which is the argument of 'cordwood sql'.
var statements = map[string]bool{
	"execute": true, "command": true, "query": true, "sql": true, "e": true, "c": true, "q": true,
}

// otherFlag returns the text after "there is no flag --NAME" if another program has this flag. It contains cordwood's
// equivalent.
func otherFlag(cmd *cobra.Command, name string) string {
	output := cmd.Flag("output")
	switch {
	case outputs[name] && output != nil && strings.Contains(output.Usage, name):
		return fmt.Sprintf(": did you mean --output %s?", name)
	case statements[name] && strings.HasPrefix(cmd.Use, "sql "):
		return fmt.Sprintf(": the statement is the argument, as in %s 'SELECT 1'", cmd.CommandPath())
	case name == "file" && strings.HasPrefix(cmd.Use, "sql "), name == "f" && strings.HasPrefix(cmd.Use, "sql "):
		return fmt.Sprintf(": statements are read from standard input, as in %s < FILE", cmd.CommandPath())
	case name == "follow" && strings.HasPrefix(cmd.Use, "tail "), name == "f" && strings.HasPrefix(cmd.Use, "tail "):
		return ": new rows are printed as they arrive without it"
	}
	for _, ours := range strings.Fields(otherFlags[name]) {
		if f := cmd.Flag(ours); f != nil && !f.Hidden {
			return fmt.Sprintf(": did you mean --%s?", ours)
		}
	}
	return ""
}
