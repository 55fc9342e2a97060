package sql

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"cordwood/proto/errs"
)

//go:embed functions.txt
var functionsText string

// Verdict is whether a query may call a function.
type Verdict uint8

// The possible verdicts.
const (
	Unknown Verdict = iota // the function is not in the list
	Allow                  // any call is allowed
	Bound                  // calls are allowed within limits
	Guard                  // the call goes to our macro of the same name, which checks a limit first
	deny                   // no call is allowed
)

// Functions contains the Verdict for every scalar, aggregate, window and macro function.
var Functions = parseFunctions(functionsText)

// allowedTableFunctions return rows that depend only on their arguments.
var allowedTableFunctions = map[string]bool{
	"unnest": true, "range": true, "generate_series": true, "json_each": true, "json_tree": true,
}

func parseFunctions(list string) map[string]Verdict {
	verdicts := map[string]Verdict{"allow": Allow, "bound": Bound, "guard": Guard, "deny": deny}
	out := make(map[string]Verdict)
	for line := range strings.Lines(list) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		for _, name := range words[1:] {
			out[strings.ToLower(name)] = verdicts[words[0]]
		}
	}
	return out
}

// call checks a call of a function that is not a table function.
func (w *walker) call(n Node) error {
	name := strings.ToLower(Text(n, "function_name"))
	if export, _ := n["export_state"].(bool); export {
		// The state of an aggregate is raw memory of the process, including old contents between
		// its fields.
		return errs.New(errs.Unsupported, "%s: EXPORT_STATE is not supported; ask for the value of the aggregate", name)
	}
	switch name {
	case "matches", "matches_term": // our own functions; the calls are rewritten
		return w.search(name, n)
	case "~*", "!~*", "regexp_full_match": // possibly operators; the calls are rewritten
		return w.regex(name, n)
	}
	switch Functions[name] {
	case Allow:
		return nil
	case Bound:
		return w.bounded(name, n)
	case Guard:
		schema := strings.ToLower(Text(n, "schema"))
		if Text(n, "catalog") != "" && schema == "main" || schema == "system" || schema == "pg_catalog" {
			return errs.New(errs.Unsupported, "%s must be called by its name alone", name)
		}
		return nil
	case deny:
		return errs.New(errs.Unsupported, "the function %s is not allowed in queries%s", excerpt(name), w.place(n))
	}
	return errs.New(errs.PlanQuery, "the function %s does not exist%s%s", excerpt(name), suggestion(name), w.place(n))
}

// place returns the end of an error text, with the position of a node in the client's text.
func (w *walker) place(n Node) string {
	at, known := Position(n)
	if !known {
		return ""
	}
	return fmt.Sprintf(" (position %d)", w.st.clientPosition(at))
}

// callable are the functions that a statement may call. The most common ones come first.
var callable = func() []string {
	names := strings.Fields("count sum avg min max date_trunc time_bucket lower upper round coalesce matches matches_term")
	for name, v := range Functions {
		if (v == Allow || v == Bound || v == Guard) && IsNameByte(name[0]) && name[0] != '_' {
			names = append(names, name)
		}
	}
	slices.Sort(names[13:])
	return names
}()

// Limits on functions that take the length of their result as an argument. DuckDB allocates such
// results outside of its memory limit and cannot be stopped meanwhile. A chunk has 2048 rows, so
// each of these limits allows some megabytes for a thread at a time.
const (
	maxPad    = 1000      // lpad, rpad, bar, printf, format: characters
	maxRepeat = 1000      // repeat of a literal; 16 for anything else
	maxList   = 10_000    // range, list_resize, equi_width_bins: elements
	maxGrowth = 100_000   // the product of all repeats and ranges of a statement, which may be nested
	maxOffset = 1_000_000 // lag, lead: rows, either way
	maxSample = 10_000    // reservoir_quantile: values of each group
	maxUnnest = 100       // unnest: levels at once
)

func (w *walker) bounded(name string, n Node) error {
	args, _ := n["children"].([]any)
	if Text(n, "schema") != "" {
		// a.repeat(9) may mean repeat(a, 9), so it is not certain which argument is which.
		return errs.New(errs.Unsupported, "%s must be called as %s(…), without a name and a dot in front", name, name)
	}
	switch name {
	case "lpad", "rpad", "bitstring":
		return w.literal(name, "its length", args, 1, maxPad)
	case "bar":
		if len(args) < 4 {
			return nil
		}
		return w.literal(name, "its length", args, 3, maxPad)
	case "list_resize", "array_resize":
		return w.grow(name, args, 1, maxList)
	case "equi_width_bins":
		return w.grow(name, args, 2, maxList)
	case "repeat":
		most := int64(16)
		if len(args) > 0 {
			if first, ok := args[0].(Node); ok && Text(first, "class") == "CONSTANT" {
				most = maxRepeat
			}
		}
		return w.grow(name, args, 1, most)
	case "range", "generate_series":
		return w.sequence(name, args)
	case "lag", "lead":
		return w.offset(name, n)
	case "reservoir_quantile":
		return w.literal(name, "the size of its sample", args, 2, maxSample)
	case "unnest", "unlist":
		return w.unnest(name, args)
	case "list_aggregate", "list_aggr", "aggregate", "array_aggregate", "array_aggr":
		return w.listAggregate(name, args)
	}
	return w.template(name, args)
}

// literal checks that the argument, which errors describe as what, is an integer literal of at most
// most.
func (w *walker) literal(name, what string, args []any, i int, most int64) error {
	if len(args) <= i {
		return nil // DuckDB reports what is missing
	}
	if v, ok := Integer(args[i]); ok && v <= most {
		return nil
	}
	return errs.New(errs.Unsupported, "%s: %s must be a literal number of at most %d", name, what, most)
}

// offset checks the offset of lag and lead. DuckDB negates and adds it without a check.
func (w *walker) offset(name string, n Node) error {
	if n["offset_expr"] == nil {
		return nil
	}
	if v, ok := Integer(n["offset_expr"]); ok && v <= maxOffset && v >= -maxOffset {
		return nil
	}
	return errs.New(errs.Unsupported, "%s: the offset must be a literal number of at most %d rows",
		name, maxOffset)
}

// unnest checks the named argument of unnest. DuckDB breaks down if it is null.
func (w *walker) unnest(name string, args []any) error {
	for _, v := range args {
		arg, _ := v.(Node)
		if strings.ToLower(Text(arg, "alias")) != "max_depth" {
			continue
		}
		if v, ok := Integer(arg); !ok || v < 1 || v > maxUnnest {
			return errs.New(errs.Unsupported, "%s: max_depth must be a literal number from 1 to %d", name, maxUnnest)
		}
	}
	return nil
}

// listAggregate checks the name of the aggregate, which is an argument, like the name of a called
// function.
func (w *walker) listAggregate(name string, args []any) error {
	if len(args) < 2 {
		return nil // DuckDB reports what is missing
	}
	second, _ := args[1].(Node)
	of, ok := TextLiteral(second)
	if !ok {
		return errs.New(errs.Unsupported, "%s: the name of the aggregate must be a literal text, as in %s(tags, 'max')",
			name, name)
	}
	switch Functions[strings.ToLower(of)] {
	case Allow:
		return nil
	case Unknown:
		return errs.New(errs.PlanQuery, "%s: the aggregate function %s does not exist%s", name, excerpt(of), suggestion(of))
	}
	return errs.New(errs.Unsupported, "%s: the function %s is not allowed there", name, excerpt(of))
}

// grow checks a literal number by which the size of a result may be multiplied.
func (w *walker) grow(name string, args []any, i int, most int64) error {
	if err := w.literal(name, "its length", args, i, most); err != nil || len(args) <= i {
		return err
	}
	v, _ := Integer(args[i])
	return w.growBy(name, v)
}

func (w *walker) growBy(name string, v int64) error {
	w.growth = max(w.growth, 1) * max(v, 1)
	if w.growth > maxGrowth {
		return errs.New(errs.Unsupported, "%s: the repeats and ranges of the statement make up more than %d elements",
			name, maxGrowth)
	}
	return nil
}

// sequence checks the scalar functions range and generate_series, which return a list.
func (w *walker) sequence(name string, args []any) error {
	numbers := make([]int64, len(args))
	for i, a := range args {
		v, ok := Integer(a)
		if !ok {
			return errs.New(errs.Unsupported,
				"%s as a value needs literal numbers; put it into FROM, as in SELECT … FROM %s(…) AS g(x)", name, name)
		}
		numbers[i] = v
	}
	start, stop, step := int64(0), int64(0), int64(1)
	switch len(numbers) {
	case 1:
		stop = numbers[0]
	case 2:
		start, stop = numbers[0], numbers[1]
	case 3:
		start, stop, step = numbers[0], numbers[1], numbers[2]
	}
	if step == 0 {
		return nil // DuckDB refuses it
	}
	length := (float64(stop)-float64(start))/float64(step) + 1
	if length > maxList {
		return errs.New(errs.Unsupported, "%s as a value makes at most %d elements; put it into FROM for more", name, maxList)
	}
	return w.growBy(name, int64(max(length, 0)))
}

// template checks the template of printf and format, which may ask for any width.
func (w *walker) template(name string, args []any) error {
	refuse := errs.New(errs.Unsupported, "%s: its template must be a literal text with widths of at most %d", name, maxPad)
	if len(args) == 0 {
		return nil
	}
	first, _ := args[0].(Node)
	value, _ := first["value"].(Node)
	template, ok := value["value"].(string)
	if Text(first, "class") != "CONSTANT" || !ok {
		return refuse
	}
	digits, open := 0, false
	for i := 0; i < len(template); i++ {
		c := template[i]
		if c >= '0' && c <= '9' {
			if digits++; digits > 3 {
				return refuse
			}
			continue
		}
		digits = 0
		switch {
		case name == "printf" && c == '*', name == "format" && c == '{' && open:
			return refuse // the width is an argument
		case name == "format" && c == '{' && i+1 < len(template) && template[i+1] == '{':
			i++
		case name == "format" && (c == '{' || c == '}'):
			open = c == '{'
		}
	}
	return nil
}

// FunctionNames returns, in order, the names of the functions that a query may call, without
// operators and casts.
func FunctionNames() []string {
	names := []string{"matches", "matches_term"}
	for name, v := range Functions {
		if v != deny && v != Unknown && !strings.HasPrefix(name, "__") &&
			strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == "" {
			names = append(names, name)
		}
	}
	for name := range allowedTableFunctions {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
