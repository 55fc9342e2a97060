// Package savedrules contains the rules for saved values that the router and the metadata group
// share.
package savedrules

import "time"

const (
	// Link is the kind of the states behind short links. Their names are derived from their values.
	Link = "link"
	// MaxBytes is the size limit of a value.
	MaxBytes = 64 << 10
	// UseInterval is the minimum time between two recorded uses of a link. The router does not
	// report uses more often, and the metadata group does not store them more often.
	UseInterval = 24 * time.Hour
)

// Kinds lists the kinds of saved values.
func Kinds() []string { return []string{"search", "sql", "view", Link} }
