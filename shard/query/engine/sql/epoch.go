package sql

// DuckDB does not compare numbers with times. Here a literal integer that is compared with a column
// of times is a moment in the column's unit. Only DuckDB knows the types of all columns, including
// columns of subqueries. So DuckDB gets the statement first, and its error shows which literals to
// convert.

// integers records a condition that may be of this kind. operands are the column, or the expression
// in its place, and the values with which it is compared.
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
	// Only columns qualify. A reader would not expect, for example, that date_trunc returns
	// microseconds whatever its argument is.
	if c.Column != "" && len(c.Literals) > 0 {
		w.st.Integers = append(w.st.Integers, c)
	}
}
