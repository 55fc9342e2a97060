package pgwire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// enginePlan is a node of a plan in the engine's JSON. EXPLAIN and EXPLAIN ANALYZE name some fields differently.
type enginePlan struct {
	Name         string         `json:"name"`
	OperatorName string         `json:"operator_name"`
	Extra        map[string]any `json:"extra_info"`
	Rows         *float64       `json:"operator_cardinality"`
	Seconds      *float64       `json:"operator_timing"`
	Latency      *float64       `json:"latency"`
	Children     []enginePlan   `json:"children"`
}

// explainedJSON returns the plan in PostgreSQL's form: [{"Plan": {…}}]. The nodes are the engine's. Programs read the
// names of the columns from "Output" of the first node.
func explainedJSON(c *cursor, output []string) (*cursor, error) {
	var text string
	last := len(c.columns) - 1
	for c.next() {
		value, null, err := c.appendValue(nil, last)
		if err != nil {
			return nil, err
		}
		if !null && (strings.HasPrefix(string(value), "[") || strings.HasPrefix(string(value), "{")) {
			text = string(value)
		}
	}
	if err := c.rows.Err(); err != nil {
		return nil, err
	}
	plans := make([]enginePlan, 1)
	target := any(&plans)
	if strings.HasPrefix(text, "{") {
		target = &plans[0]
	}
	if err := json.Unmarshal([]byte(text), target); err != nil {
		return nil, errs.Wrap(errs.Internal, err, "read the plan of the engine")
	}
	if len(plans) == 0 {
		return nil, errs.New(errs.Internal, "read the plan of the engine: it is empty")
	}
	top := plans[0]
	var total *float64
	for top.nodeType() == "" && len(top.Children) == 1 || top.nodeType() == "Explain Analyze" {
		if total == nil {
			total = top.Latency
		}
		if len(top.Children) == 0 {
			break
		}
		top = top.Children[0]
	}
	plan := top.convert("")
	if len(output) > 0 {
		plan["Output"] = output
	}
	text, err := planText(plan, total)
	if err != nil {
		return nil, err
	}
	out := explainedAs(explaining{json: true}, text).rows
	out.x = c.x
	return out, nil
}

// planText returns a plan as PostgreSQL writes it.
func planText(plan map[string]any, seconds *float64) (string, error) {
	whole := map[string]any{"Plan": plan}
	if seconds != nil {
		whole["Execution Time"] = *seconds * 1000
	}
	text, err := json.MarshalIndent([]any{whole}, "", "  ")
	return string(text), err
}

// nodeType returns the name of a node with capitals as PostgreSQL writes them, such as Hash Join.
func (p *enginePlan) nodeType() string {
	words := strings.Split(strings.TrimSpace(p.Name+p.OperatorName), "_")
	for i, w := range words {
		words[i] = capital(w)
	}
	return strings.Join(words, " ")
}

func capital(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + strings.ToLower(word[1:])
}

// convert returns a node in PostgreSQL's form. Details that only the engine has keep their names.
func (p *enginePlan) convert(relationship string) map[string]any {
	out := map[string]any{"Node Type": p.nodeType()}
	if relationship != "" {
		out["Parent Relationship"] = relationship
	}
	for key, detail := range p.Extra {
		text, _ := detail.(string)
		switch key {
		case "Estimated Cardinality":
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				out["Plan Rows"] = n
			}
		case "Projections":
			out["Output"] = listOf(detail)
		case "Join Type":
			out[key] = capital(text)
		default:
			out[key] = detail
		}
	}
	if p.Rows != nil {
		out["Actual Rows"] = *p.Rows
	}
	if p.Seconds != nil {
		out["Actual Total Time"] = *p.Seconds * 1000
	}
	if len(p.Children) > 0 {
		plans := make([]any, len(p.Children))
		for i, child := range p.Children {
			side := "Outer"
			if i > 0 {
				side = "Inner"
			}
			plans[i] = child.convert(side)
		}
		out["Plans"] = plans
	}
	return out
}

// listOf returns the texts of a detail, which the engine writes as a list or, if it has one, as a text.
func listOf(detail any) []string {
	switch d := detail.(type) {
	case string:
		return slices.DeleteFunc(strings.Split(d, "\n"), func(s string) bool { return s == "" })
	case []any:
		list := make([]string, 0, len(d))
		for _, v := range d {
			if s, ok := v.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}
