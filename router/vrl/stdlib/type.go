package stdlib

import "cordwood/router/vrl/fn"

// typeFunctions are the functions of the group Type.
var typeFunctions = []*fn.Function{}
