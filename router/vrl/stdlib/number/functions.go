// Package number has the functions that compute with numbers.
package number

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	absolute, ceiling, floor, formatInt, formatNumber, modulo, round, haversine,
}
