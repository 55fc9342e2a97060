// Package system has the functions that access the outside world, if the host permits it, and functions for
// debugging.
package system

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	dnsLookup, getEnvVar, getHostname, getTimezoneName, httpRequest, reverseDNS, assert, assertEq,
	logValue,
}
