package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"gopkg.in/yaml.v3"
)

// PrintRows prints rows of NDJSON in a format. It converts to json and yaml row by row, so that memory
// does not grow with the answer.
func PrintRows(w io.Writer, output string, rows io.Reader) error {
	out := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch output {
	case "json":
		err = printJSON(out, rows)
	case "yaml":
		err = printYAML(out, rows)
	default:
		_, err = io.Copy(out, rows)
	}
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

// PrintWarnings prints the warnings in the server's answer.
func PrintWarnings(w io.Writer, answer http.Header) {
	for _, warning := range answer.Values("X-Svc-Warnings") {
		fmt.Fprintf(w, "warning: %s\n", warning)
	}
}

// EachLine calls fn with each line that is not empty.
func EachLine(rows io.Reader, fn func(line []byte) error) error {
	r := bufio.NewReaderSize(rows, 64<<10)
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if ferr := fn(text); ferr != nil {
				return ferr
			}
		}
		if err != nil {
			return nil
		}
		line = line[:0]
	}
}

// printJSON prints rows as one array.
func printJSON(w *bufio.Writer, rows io.Reader) error {
	separator := "[\n  "
	err := EachLine(rows, func(line []byte) error {
		_, _ = w.WriteString(separator)
		separator = ",\n  "
		_, werr := w.Write(line)
		return werr
	})
	if err != nil {
		return err
	}
	if separator == "[\n  " {
		_, err = w.WriteString("[]\n")
	} else {
		_, err = w.WriteString("\n]\n")
	}
	return err
}

// printYAML prints rows as one list.
func printYAML(w *bufio.Writer, rows io.Reader) error {
	none := true
	err := EachLine(rows, func(line []byte) error {
		none = false
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		node, err := YamlNode(d)
		if err != nil {
			return fmt.Errorf("reading a row: %w", err)
		}
		text, err := yaml.Marshal(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}})
		if err == nil {
			_, err = w.Write(text)
		}
		return err
	})
	if err == nil && none {
		_, err = w.WriteString("[]\n")
	}
	return err
}

// YamlNode reads the next JSON value as YAML; keys keep their order.
func YamlNode(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	scalar := func(tag, value string) *yaml.Node {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
	}
	switch t := token.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			node.Kind = yaml.MappingNode
		}
		for d.More() {
			child, err := YamlNode(d)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err := d.Token()
		return node, err
	case string:
		node := &yaml.Node{} // quoted if some reader would not parse it as a string
		return node, node.Encode(t)
	case json.Number:
		if bytes.ContainsAny([]byte(t), ".eE") {
			return scalar("!!float", t.String()), nil
		}
		return scalar("!!int", t.String()), nil
	case bool:
		return scalar("!!bool", fmt.Sprint(t)), nil
	default:
		return scalar("!!null", "null"), nil
	}
}

// RowCells returns the names and values of a row of NDJSON in the order of the server. null is the
// text of a null; clean, if given, edits texts.
func RowCells(line []byte, null string, clean func(string) string) (columns, cells []string, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	if _, err := d.Token(); err != nil {
		return nil, nil, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		cell := string(raw)
		var text string
		switch {
		case cell == "null":
			cell = null
		case json.Unmarshal(raw, &text) == nil:
			if cell = text; clean != nil {
				cell = clean(text)
			}
		}
		columns, cells = append(columns, name), append(cells, cell)
	}
	return columns, cells, nil
}
