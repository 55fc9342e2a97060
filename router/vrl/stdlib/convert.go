package stdlib

import "cordwood/router/vrl/fn"

// convertFunctions are the functions of the group Convert.
var convertFunctions = []*fn.Function{}
