package stdlib

import "cordwood/router/vrl/fn"

// checksumFunctions are the functions of the group Checksum.
var checksumFunctions = []*fn.Function{}
