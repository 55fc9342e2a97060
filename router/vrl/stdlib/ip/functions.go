// Package ip has the functions for IP addresses and networks.
package ip

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	decryptIP, encryptIP, ipAton, ipCIDRContains, ipNtoa, ipNtop, ipPton, ipSubnet, ipToIPv6,
	ipv6ToIPv4, isIPv4, isIPv6, communityID,
}
