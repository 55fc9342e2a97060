package parse

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxXMLDepth is how deep elements may be nested.
const maxXMLDepth = 128

// xmlReader converts elements to values.
type xmlReader struct {
	dec                               *xml.Decoder
	trim, attributes, always          bool
	prefix, textKey                   string
	parseBool, parseNull, parseNumber bool
}

// newXMLReader returns a reader of s with the options of o.
func newXMLReader(s string, o xmlReader) *xmlReader {
	o.dec = xml.NewDecoder(strings.NewReader(strings.TrimPrefix(s, "\ufeff")))
	// The text is UTF-8 here, whatever its declaration says.
	o.dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return &o
}

// parse reads a document.
func (r *xmlReader) parse() (value.Value, error) {
	var root value.Value
	found := false
	for {
		t, err := r.dec.RawToken()
		if errors.Is(err, io.EOF) {
			if !found {
				return root, errors.New("the document has no element")
			}
			return root, nil
		}
		if err != nil {
			return root, err
		}
		switch t := t.(type) {
		case xml.CharData:
			if strings.TrimSpace(string(t)) != "" {
				line, column := r.dec.InputPos()
				if !found {
					line, column = 1, 1
				}
				return root, fmt.Errorf("unknown token at %d:%d", line, column)
			}
		case xml.StartElement:
			if found {
				line, column := r.dec.InputPos()
				return root, fmt.Errorf("a second root element at %d:%d", line, column)
			}
			found = true
			v, err := r.element(t, 1)
			if err != nil {
				return root, err
			}
			root = value.ObjectOf(value.Field{Key: t.Name.Local, Value: v})
		case xml.EndElement:
			return root, fmt.Errorf("an end tag </%s> without its start", t.Name.Local)
		}
	}
}

// element parses the content of an element up to its end.
func (r *xmlReader) element(start xml.StartElement, depth int) (value.Value, error) {
	var none value.Value
	if depth > maxXMLDepth {
		return none, fmt.Errorf("elements are nested more than %d deep", maxXMLDepth)
	}
	start = start.Copy()
	var list []value.Field
	var text strings.Builder
	children, texts := 0, 0
	flush := func() {
		if s := text.String(); s != "" && (!r.trim || strings.TrimSpace(s) != "") {
			list = append(list, value.Field{Key: r.textKey, Value: r.scalar(s)})
			children++
			texts++
		}
		text.Reset()
	}
	for {
		t, err := r.dec.RawToken()
		if errors.Is(err, io.EOF) {
			return none, fmt.Errorf("element <%s> is not closed", start.Name.Local)
		}
		if err != nil {
			return none, err
		}
		switch t := t.(type) {
		case xml.CharData:
			text.Write(t)
			continue
		case xml.StartElement:
			flush()
			t = t.Copy()
			v, err := r.element(t, depth+1)
			if err != nil {
				return none, err
			}
			list = append(list, value.Field{Key: t.Name.Local, Value: v})
			children++
			continue
		case xml.EndElement:
			if t.Name != start.Name {
				return none, fmt.Errorf("element <%s> is closed by </%s>", start.Name.Local, t.Name.Local)
			}
			flush()
			return r.content(start, list, children, texts), nil
		}
		flush() // a comment or an instruction
		children++
	}
}

// content returns the value of an element and everything in it.
func (r *xmlReader) content(start xml.StartElement, list []value.Field, children, texts int) value.Value {
	attributes := false
	if r.attributes {
		for _, a := range start.Attr {
			if a.Name.Space == "xmlns" || a.Name.Space == "" && a.Name.Local == "xmlns" {
				continue
			}
			attributes = true
			list = append(list, value.Field{Key: r.prefix + a.Name.Local, Value: value.NewString(a.Value)})
		}
	}
	if children == 1 && texts == 1 && !attributes && !r.always {
		return list[0].Value
	}
	return gather(list, mergeXML)
}

// mergeXML collects the values of a name in an array. The value of an element is never an array, so an array always
// has earlier values.
func mergeXML(a, b value.Value) value.Value { return appendTo(a, b) }

// scalar returns the value of a text.
func (r *xmlReader) scalar(s string) value.Value {
	switch {
	case r.parseBool && s == "true":
		return value.NewBool(true)
	case r.parseBool && s == "false":
		return value.NewBool(false)
	case r.parseNull && (s == "" || s == "null"):
		return value.Value{}
	case r.parseNumber && len(s) < 400 && (ascii.IsDigit(s[0]) || strings.IndexByte("+-.", s[0]) >= 0):
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return value.NewInt(i)
		}
		if strings.ContainsAny(s, "xX_pP") {
			break
		}
		if x, err := strconv.ParseFloat(s, 64); err == nil {
			return value.NewFloat(x)
		}
	}
	return value.NewString(s)
}

var parseXML = &fn.Function{
	Name:  "parse_xml",
	Group: fn.Parse,
	Doc: "Parses an XML document into an object under the name of the root element. " +
		"An element with only text becomes this text. Any other element becomes an object with its attributes " +
		"and its content, in which elements with the same name are an array. " +
		"Prefixes of namespaces are dropped, entities that XML itself does not define are errors.",
	Params: []fn.Param{
		fn.ValueParam("The document."),
		{
			Name: "trim", Doc: "Whether white space between tags is removed.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(true),
		},
		{
			Name: "include_attr", Doc: "Whether attributes are included.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(true),
		},
		{
			Name: "attr_prefix", Doc: "The prefix for the names of attributes.", Kind: kind.String, Optional: true,
			Default: value.NewString("@"),
		},
		{
			Name: "text_key", Doc: "The key of text next to attributes or elements.", Kind: kind.String, Optional: true,
			Default: value.NewString("text"),
		},
		{
			Name: "always_use_text_key", Doc: "Whether text is always under that key.", Kind: kind.Boolean,
			Optional: true, Default: value.NewBool(false),
		},
		{
			Name: "parse_bool", Doc: "Whether `true` and `false` become booleans.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(true),
		},
		{
			Name: "parse_null", Doc: "Whether `null` becomes null.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(true),
		},
		{
			Name: "parse_number", Doc: "Whether numbers become integers and floats.", Kind: kind.Boolean, Optional: true,
			Default: value.NewBool(true),
		},
	},
	Returns:  kind.Object,
	Fallible: true,
	Errors:   []string{"the text is not well-formed XML", "elements are nested more than 128 deep"},
	Examples: []fn.Example{
		{
			Title:  "a document",
			Source: `parse_xml!(s'<a id="1"><b>x</b><b>2</b></a>')`,
			Result: `{"a":{"@id":"1","b":["x",2]}}`,
		},
		{Title: "texts only", Source: `parse_xml!(s'<a><b>true</b></a>', parse_bool: false)`, Result: `{"a":{"b":"true"}}`},
		{Title: "not XML", Source: `parse_xml!("hello")`, Fails: `unable to parse xml: unknown token at 1:1`},
	},
	Impl: fn.Impl{N: func(f *fn.Frame, a []value.Value) (value.Value, bool) {
		s := a[0].Text()
		if !f.Reserve(4*len(s)) || !f.Spend(len(s)/2) {
			return value.Value{}, false
		}
		r := newXMLReader(s, xmlReader{
			trim: a[1].Bool(), attributes: a[2].Bool(), prefix: a[3].Text(), textKey: a[4].Text(), always: a[5].Bool(),
			parseBool: a[6].Bool(), parseNull: a[7].Bool(), parseNumber: a[8].Bool(),
		})
		v, err := r.parse()
		if err != nil {
			return f.FailErr("unable to parse xml: ", err)
		}
		return v, true
	}},
}
