// Package stdlib is the list of the language's functions. The functions are in the packages below it, one for each
// subject.
//
// Those packages contain only descriptions and implementations, and do not import each other. Package compile
// checks and compiles calls. Package fn has what functions may use at run time.
package stdlib

import (
	"slices"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/stdlib/codec"
	"cordwood/router/vrl/stdlib/coerce"
	"cordwood/router/vrl/stdlib/crypto"
	"cordwood/router/vrl/stdlib/datadog"
	"cordwood/router/vrl/stdlib/enumerate"
	"cordwood/router/vrl/stdlib/ip"
	"cordwood/router/vrl/stdlib/number"
	"cordwood/router/vrl/stdlib/parse"
	"cordwood/router/vrl/stdlib/path"
	"cordwood/router/vrl/stdlib/system"
	"cordwood/router/vrl/stdlib/text"
)

// All returns all functions. They are shared and must not be changed.
func All() []*fn.Function {
	return slices.Concat(
		coerce.Functions, path.Functions, text.Functions, number.Functions, enumerate.Functions,
		datadog.Functions, parse.Functions, codec.Functions, ip.Functions, crypto.Functions,
		system.Functions,
	)
}
