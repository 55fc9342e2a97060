package pgwire

import "cordwood/router/pgwire/rewrite"

// rewritten returns a statement in the words of the engine.
func (c *conn) rewritten(text string) rewrite.Result { return rewrite.Rewrite(text) }

// refine gives columns the names and types that PostgreSQL would.
func (c *conn) refine(text string, tables []string, columns []column) {}
