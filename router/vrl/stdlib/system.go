package stdlib

import "cordwood/router/vrl/fn"

// systemFunctions are the functions of the group System.
var systemFunctions = []*fn.Function{}
