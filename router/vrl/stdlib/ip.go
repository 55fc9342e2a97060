package stdlib

import "cordwood/router/vrl/fn"

// ipFunctions are the functions of the group IP.
var ipFunctions = []*fn.Function{}
