package stdlib

import "cordwood/router/vrl/fn"

// arrayFunctions are the functions of the group Array.
var arrayFunctions = []*fn.Function{}
