// Package text has the functions that compare, search, change and split strings.
package text

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	basename, camelCase, contains, containsAll, dirname, downcase, endsWith, find, join, kebabCase,
	match, matchAny, pascalCase, redact, replace, replaceWith, screamingSnakeCase, shannonEntropy,
	sieve, slice, snakeCase, split, splitPath, startsWith, stripANSI, stripWhitespace,
	truncateString, upcase,
}
