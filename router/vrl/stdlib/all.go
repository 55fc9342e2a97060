// Package stdlib is the language's library of functions: a file for each group of them,
// and further files for those functions that are programs of their own.
//
// It holds descriptions and implementations only. How calls are checked and compiled is
// for package compile; what functions may use at run time is in package fn.
package stdlib

import (
	"slices"

	"cordwood/router/vrl/fn"
)

// All returns all functions, group by group. The functions are shared and must not be
// changed.
func All() []*fn.Function {
	return slices.Concat(
		coerceFunctions, convertFunctions, typeFunctions, pathFunctions, stringFunctions,
		numberFunctions, arrayFunctions, enumerateFunctions, objectFunctions, parseFunctions,
		codecFunctions, timestampFunctions, ipFunctions, cryptoFunctions, checksumFunctions,
		randomFunctions, systemFunctions, debugFunctions, mapFunctions,
	)
}
