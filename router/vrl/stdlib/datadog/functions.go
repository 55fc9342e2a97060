// Package datadog has the function match_datadog_query: the syntax of Datadog's search language, and its
// matching.
package datadog

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	matchDatadogQuery,
}
