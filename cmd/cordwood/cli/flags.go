package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"cordwood/proto/schema"
)

// ParseDuration parses a duration as the server does: 30s, 1h30m, 2 days. The empty text is 0.
func ParseDuration(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return d, nil
	}
	if ttl, err := schema.ParseTTL(text); err == nil && ttl.D > 0 {
		return ttl.D, nil
	}
	return 0, WrongUsage(fmt.Errorf("--%s %s: want a duration, such as 30s, 12h or 30d", flag, text))
}

// TableName parses TABLE or DATABASE.TABLE. A name without a database belongs to db, the value of
// the flag --db, which may be empty.
func TableName(cmd *cobra.Command, db, text string) (database, table string, err error) {
	database, table, err = schema.ParseTableName(text)
	switch {
	case err != nil:
		return "", "", WrongUsage(err)
	case database == "":
		return db, table, nil
	case cmd.Flags().Changed("db") && database != db:
		return "", "", WrongUsage(fmt.Errorf("the table %s is of database %s, and --db is %s: give only one database", text,
			database, db))
	}
	return database, table, nil
}
