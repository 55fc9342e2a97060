// Package partial keeps what a statement found in each segment, the partials, for the next time that it is asked, and
// adds up partials of several segments. Segments do not change, so what was found in one stays true.
//
// It knows neither statements nor the engine: partials are rows of Arrow, the first columns of which are groups.
package partial
