// Package system holds the functions that reach the world, for what the host grants, and those for
// finding faults in programs.
package system

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	dnsLookup, getEnvVar, getHostname, getTimezoneName, httpRequest, reverseDNS, assert, assertEq,
	logValue,
}
