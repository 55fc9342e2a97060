package stdlib

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// debugFunctions are the functions of the group Debug.
var debugFunctions = []*fn.Function{assert}

var assert = &fn.Function{
	Name:  "assert",
	Group: fn.Debug,
	Doc:   "Returns true if the condition is true and fails with the message otherwise.",
	Params: []fn.Param{
		{Name: "condition", Doc: "What must be true.", Kind: kind.Boolean},
		{Name: "message", Doc: "The text of the failure.", Kind: kind.String, Optional: true},
	},
	Effect:   true,
	Returns:  kind.Boolean,
	Fallible: true,
	Errors:   []string{"the condition is false"},
	Examples: []fn.Example{
		{Title: "true", Source: `assert!(1 < 2)`, Result: `true`},
		{Title: "false", Source: `assert!(1 > 2, message: "one is not more than two")`, Fails: `one is not more than two`},
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, condition, message value.Value) (value.Value, bool) {
		switch {
		case condition.Bool():
			return condition, true
		case message.IsDefined():
			return f.Fail(message.Text())
		}
		return f.Fail("assertion failed")
	}},
}
