// Package enumerate has the functions that search, change and rebuild arrays and objects.
package enumerate

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	appendArrays, chunks, pop, push, zip, compact, filter, flatten, forEach, includes, keys, length,
	mapKeys, mapValues, matchArray, strlen, tally, tallyValue, unflatten, unique, values,
	fromEntries, merge, objectFromArray, toEntries, unnest,
}
