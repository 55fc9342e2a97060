// Package cli has the parts that the subcommands of cordwood share: client flags, exit statuses and
// errors, questions to the user, formats of lists, colours, and names of the server for completion.
//
// It does not depend on any subcommand. Each subcommand is a cobra command made by a function
// NewCommand of its own package, or of package main if it is one short file.
package cli
