package helmtest

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// valueRow is a value of the chart as the README shows it.
type valueRow struct{ key, value, text string }

// valueRows lists the values with a comment that begins with two dashes. A value without such a
// comment is an error, unless it is a group of values that have one.
func valueRows(text []byte) ([]valueRow, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	var rows []valueRow
	var walk func(node *yaml.Node, path string) error
	walk = func(node *yaml.Node, path string) error {
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			name := path + key.Value
			text, ok := description(key.HeadComment)
			switch {
			case ok:
				var v any
				if err := value.Decode(&v); err != nil {
					return err
				}
				shown, err := json.Marshal(v)
				if err != nil {
					return err
				}
				rows = append(rows, valueRow{name, string(shown), text})
			case value.Kind == yaml.MappingNode && len(value.Content) > 0:
				if err := walk(value, name+"."); err != nil {
					return err
				}
			default:
				return fmt.Errorf("values.yaml, line %d: %s has no comment that begins with `# -- `", key.Line, name)
			}
		}
		return nil
	}
	return rows, walk(doc.Content[0], "")
}

// description returns the paragraph of a comment that begins with two dashes, and whether there is one.
func description(comment string) (string, bool) {
	_, text, ok := strings.Cut(comment, "# -- ")
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n# ", " ")), " "), ok
}
