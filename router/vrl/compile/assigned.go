package compile

import (
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/syntax"
	"cordwood/router/vrl/value"
)

// forgetAssigned marks the values of all variables to which a closure's body assigns as unknown, because they may
// be different in its second run. functions are the functions of the language, by name.
func (kn *knowledge) forgetAssigned(body *syntax.Block, functions map[string]*fn.Function) {
	forget := func(name string) {
		if slot, ok := kn.lookup(name); ok && kn.vars[slot].known {
			kn.set(slot, kn.vars[slot].kind, value.Value{}, false)
		}
	}
	walk(body, func(n syntax.Node) {
		switch n := n.(type) {
		case *syntax.Assign:
			for _, target := range []syntax.Node{n.OK, n.Err} {
				switch t := target.(type) {
				case *syntax.Variable:
					forget(t.Name)
				case *syntax.Query:
					forget(t.Name)
				}
			}
		case *syntax.Call:
			// A function may change the value at a path.
			for _, a := range n.Args {
				if f := functions[n.Name]; f != nil && f.Effect {
					switch t := a.Value.(type) {
					case *syntax.Variable:
						forget(t.Name)
					case *syntax.Query:
						forget(t.Name)
					}
				}
			}
		}
	})
}

// walk visits a node and all nodes in it.
func walk(n syntax.Node, visit func(syntax.Node)) {
	visit(n)
	all := func(list []syntax.Node) {
		for _, x := range list {
			walk(x, visit)
		}
	}
	switch n := n.(type) {
	case *syntax.Array:
		all(n.Items)
	case *syntax.Object:
		all(n.Values)
	case *syntax.Query:
		if n.Base != nil {
			walk(n.Base, visit)
		}
	case *syntax.Group:
		walk(n.Inner, visit)
	case *syntax.Block:
		all(n.Body)
	case *syntax.If:
		all(n.Cond)
		walk(n.Then, visit)
		if n.Else != nil {
			walk(n.Else, visit)
		}
	case *syntax.Binary:
		walk(n.Left, visit)
		walk(n.Right, visit)
	case *syntax.Not:
		walk(n.X, visit)
	case *syntax.Assign:
		walk(n.Value, visit)
	case *syntax.Call:
		for i := range n.Args {
			walk(n.Args[i].Value, visit)
		}
		if n.Closure != nil {
			walk(n.Closure.Body, visit)
		}
	case *syntax.Abort:
		if n.Message != nil {
			walk(n.Message, visit)
		}
	case *syntax.Return:
		walk(n.Value, visit)
	}
}
