// Package openapi has the description of the HTTP API in OpenAPI 3.1. It is written by hand in document/*.yaml,
// with a file for each part of the API. This package joins the files.
//
// It also adds parts that would be repeated in the files: common errors of operations, the method HEAD for each GET,
// the old names of paths, and the codes of errors. The following keys control this and are not in the result:
//
//	x-errors: [413]        of an operation: further errors, by status
//	x-no-head: true        of an operation GET: there is no HEAD
//	x-alias-of: /v1/x      of a path: it has the operations of another one
//	$ref: '#/x-name'       the value of the key x-name of any file stands here
//
// admin.yaml describes the administrator's port and is complete in itself.
//
// The key x-permission stays in the result. It is the privilege that the operation needs. Tests of package httpapi
// compare the result with the table of routes, and test/api compares it with real answers.
package openapi

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed document/*.yaml
var files embed.FS

//go:embed admin.yaml
var admin []byte

// object is a mapping in the document.
type object = map[string]any

// Document returns the description as JSON. version is the version of the program; empty means dev.
func Document(version string) ([]byte, error) {
	doc, err := assemble()
	if err != nil {
		return nil, err
	}
	return encode(doc, version)
}

// Admin returns the description of the administrator's port as JSON. version is the version of the program; empty
// means dev.
func Admin(version string) ([]byte, error) {
	doc := object{}
	if err := yaml.Unmarshal(admin, &doc); err != nil {
		return nil, fmt.Errorf("openapi: admin.yaml: %w", err)
	}
	return encode(doc, version)
}

func encode(doc object, version string) ([]byte, error) {
	if version == "" {
		version = "dev"
	}
	doc["info"].(object)["version"] = version
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(doc); err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	return out.Bytes(), nil
}

// assemble joins the files.
func assemble() (object, error) {
	entries, err := files.ReadDir("document")
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	doc := object{}
	for _, entry := range entries {
		text, err := files.ReadFile("document/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("openapi: %w", err)
		}
		part := object{}
		if err := yaml.Unmarshal(text, &part); err != nil {
			return nil, fmt.Errorf("openapi: %s: %w", entry.Name(), err)
		}
		if err := join(doc, part, entry.Name()); err != nil {
			return nil, err
		}
	}
	fragments := object{}
	for name, value := range doc {
		if strings.HasPrefix(name, "x-") {
			fragments["#/"+name] = value
			delete(doc, name)
		}
	}
	doc = insert(doc, fragments).(object)
	components := doc["components"].(object)
	components["responses"] = errorResponses(fragments["#/x-error-headers"].(object))
	components["schemas"].(object)["ErrorCode"] = errorCodes()
	return doc, completePaths(doc["paths"].(object))
}

// join adds the members of from to to. A member of both must be an object in both.
func join(to, from object, where string) error {
	for name, value := range from {
		have, twice := to[name]
		if !twice {
			to[name] = value
			continue
		}
		a, ok1 := have.(object)
		b, ok2 := value.(object)
		if !ok1 || !ok2 {
			return fmt.Errorf("openapi: %s: %s is defined twice", where, name)
		}
		if err := join(a, b, where+": "+name); err != nil {
			return err
		}
	}
	return nil
}

// insert returns a copy of v in which references to fragments are replaced.
func insert(v any, fragments object) any {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok && fragments[ref] != nil {
			return insert(fragments[ref], nil)
		}
		out := make(object, len(v))
		for name, value := range v {
			out[name] = insert(value, fragments)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = insert(value, fragments)
		}
		return out
	}
	return v
}

// methods are the keys of a path's operations.
var methods = []string{"get", "head", "post", "put", "delete", "patch"}

// completePaths adds errors, old names and HEAD.
func completePaths(paths object) error {
	for _, item := range paths {
		for _, method := range methods {
			if op, ok := item.(object)[method].(object); ok {
				addErrors(op)
			}
		}
	}
	names := map[string]int{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		of, ok := paths[path].(object)["x-alias-of"].(string)
		if !ok {
			continue
		}
		item, ok := paths[of].(object)
		if !ok {
			return fmt.Errorf("openapi: %s is another name of %s, which is not described", path, of)
		}
		if names[of]++; names[of] > 1 {
			paths[path] = alias(item, of, fmt.Sprintf("Alias%d", names[of]))
		} else {
			paths[path] = alias(item, of, "Alias")
		}
	}
	for _, item := range paths {
		item := item.(object)
		op, ok := item["get"].(object)
		if !ok {
			continue
		}
		if op["x-no-head"] == nil {
			item["head"] = head(op)
		}
		delete(op, "x-no-head")
	}
	return nil
}

// alias returns a path item with the operations of another one.
func alias(item object, of, suffix string) object {
	out := insert(item, nil).(object)
	for _, method := range methods {
		if op, ok := out[method].(object); ok {
			op["operationId"] = op["operationId"].(string) + suffix
			op["summary"] = "As " + of
			op["deprecated"] = true
			delete(op, "description")
		}
	}
	return out
}

// head returns the operation HEAD for a GET.
func head(get object) object {
	out := insert(get, nil).(object)
	out["operationId"] = out["operationId"].(string) + "Head"
	out["summary"] = "The headers of GET"
	delete(out, "description")
	for _, response := range out["responses"].(object) {
		delete(response.(object), "content")
	}
	return out
}
