package stdlib

import "cordwood/router/vrl/fn"

// codecFunctions are the functions of the group Codec.
var codecFunctions = []*fn.Function{}
