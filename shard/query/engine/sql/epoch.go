package sql

// The engine compares no number with a time. Here a literal integer beside a column of times is a moment, in
// the unit of the column. Only the engine knows the types of all columns, of queries in FROM too, so it is asked
// first, and its error says which literals are meant.

// integers notes a condition that may be of this kind. operands are the column, or the expression in its place,
// and the value that it is compared with.
func (w *walker) integers(n Node, operands ...any) {
	at, ok := Position(n)
	if !ok {
		at = -1
	}
	c := integerCondition{At: at}
	for _, v := range operands {
		operand, _ := v.(Node)
		switch from, known := Position(operand); {
		case Text(operand, "class") == "COLUMN_REF":
			if path, _ := operand["column_names"].([]any); len(path) > 0 {
				c.Column, _ = path[len(path)-1].(string)
			}
		case known && Text(operand, "class") == "CONSTANT" && IsWhole(operand):
			c.Literals = append(c.Literals, from)
		}
	}
	// A reader would not expect, for example, that a call of date_trunc is in microseconds whatever its argument is.
	if c.Column != "" && len(c.Literals) > 0 {
		w.st.Integers = append(w.st.Integers, c)
	}
}
