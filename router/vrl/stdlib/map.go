package stdlib

import "cordwood/router/vrl/fn"

// mapFunctions are the functions of the group Map.
var mapFunctions = []*fn.Function{}
