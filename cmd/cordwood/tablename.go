package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"cordwood/proto/schema"
)

// tableName reads TABLE or DATABASE.TABLE, for all commands alike. A name without a
// database is of that of the flag --db.
func tableName(cmd *cobra.Command, db, text string) (database, table string, err error) {
	database, table, err = schema.ParseTableName(text)
	switch {
	case err != nil:
		return "", "", usageError{err}
	case database == "":
		return db, table, nil
	case cmd.Flags().Changed("db") && database != db:
		return "", "", usageError{fmt.Errorf("the table %s is of database %s, and --db says %s: name one database", text, database, db)}
	}
	return database, table, nil
}
