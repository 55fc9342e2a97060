// Package datadog holds match_datadog_query: the search syntax of Datadog, and its matching.
package datadog

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	matchDatadogQuery,
}
