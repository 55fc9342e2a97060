package stdlib

import "cordwood/router/vrl/fn"

// cryptoFunctions are the functions of the group Cryptography.
var cryptoFunctions = []*fn.Function{}
