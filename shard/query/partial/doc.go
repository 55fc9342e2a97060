// Package partial keeps partials, the partial results of a statement for each segment, and combines
// the partials of several segments. Segments do not change, so their partials stay valid.
//
// It knows neither statements nor the engine: partials are Arrow rows, and their first columns are
// the groups.
package partial
