package main
import "github.com/spf13/cobra"
func newSQLCommand() *cobra.Command { return &cobra.Command{Use:"sql"} }
