package stdlib

import "cordwood/router/vrl/fn"

// objectFunctions are the functions of the group Object.
var objectFunctions = []*fn.Function{}
