package processor

import (
	"slices"
	"strings"

	"cordwood/proto/nearest"
)

// properties reads the option properties, which lists some of the names. If it is missing, all names are returned.
func (o *Options) properties(names []string) []string {
	n := o.Get("properties")
	if n == nil {
		return names
	}
	list := n.List()
	if len(list) == 0 && n.IsList() {
		n.Fault("the list is empty; known are %s", strings.Join(names, ", "))
	}
	var chosen []string
	for _, e := range list {
		text, ok := e.String()
		switch {
		case !ok:
		case !slices.Contains(names, text):
			e.Fault("unknown property %q, known are %s%s", Cut(text), strings.Join(names, ", "),
				nearest.DidYouMean(", ", text, names))
		case slices.Contains(chosen, text):
			e.Fault("the property %q is given twice", text)
		default:
			chosen = append(chosen, text)
		}
	}
	return chosen
}

// propertyNames returns the names of the fields for the properties of the field fl.
func (o *Options) propertyNames(fl Field, properties []string) []Name {
	names := make([]Name, len(properties))
	for i, p := range properties {
		names[i] = o.Name(fl.Out.Text + "_" + p)
	}
	return names
}
