package stdlib

import "cordwood/router/vrl/fn"

// randomFunctions are the functions of the group Random.
var randomFunctions = []*fn.Function{}
