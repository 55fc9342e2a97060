package stdlib

import "cordwood/router/vrl/fn"

// timestampFunctions are the functions of the group Timestamp.
var timestampFunctions = []*fn.Function{}
