package stdlib

import "cordwood/router/vrl/fn"

// numberFunctions are the functions of the group Number.
var numberFunctions = []*fn.Function{}
