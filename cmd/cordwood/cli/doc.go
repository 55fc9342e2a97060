// Package cli is what the subcommands of cordwood share: flags of clients, exit statuses and
// errors, questions to a person, formats of lists, colours, and names of the server for completion.
//
// It knows no subcommand. Each subcommand is a cobra command made by a function NewCommand of its
// own package, or of package main if it is one short file.
package cli
