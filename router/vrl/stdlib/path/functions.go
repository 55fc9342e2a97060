// Package path holds the functions that reach into values by paths: del, exists, get, remove, set.
package path

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	del, exists, get, remove, set,
}
