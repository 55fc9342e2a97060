// Package path has the functions that access values by paths: del, exists, get, remove, set.
package path

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	del, exists, get, remove, set,
}
