package openapi

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"cordwood/proto/errs"
)

// errorCodes returns the schema of error codes.
func errorCodes() object {
	var values []any
	var text strings.Builder
	text.WriteString("The kind of the error, with its usual status. The numbers do not change.\n\n| code | status " +
		"| meaning |\n|---|---|---|\n")
	for _, e := range errs.Explanations() {
		values = append(values, int(e.Code))
		fmt.Fprintf(&text, "| %d | %d | %s |\n", e.Code, e.Code.Status(), e.Meaning)
	}
	return object{"type": "integer", "enum": values, "description": text.String()}
}

// statuses has the common error statuses of operations.
var statuses = map[int]string{
	http.StatusBadRequest:            "The request is invalid; do not send it again.",
	http.StatusUnauthorized:          "The request has no user, or the password is wrong.",
	http.StatusForbidden:             "The user, or the page of another site that sent the request, may not do this.",
	http.StatusNotFound:              "It does not exist.",
	http.StatusMethodNotAllowed:      "The path does not support the method; the header Allow lists the others.",
	http.StatusRequestTimeout:        "The request did not end in time, or its body did not arrive in time.",
	http.StatusConflict:              "Its state does not allow this: for example, an operation has ended.",
	http.StatusPreconditionFailed:    "It was changed meanwhile or already exists: see If-Match and If-None-Match.",
	http.StatusRequestEntityTooLarge: "The body is too large.",
	http.StatusUnsupportedMediaType:  "The content type or the compression of the body is not supported.",
	http.StatusUnprocessableEntity: "The Idempotency-Key was used for another body or other parameters; " +
		"nothing of this request is stored.",
	http.StatusUpgradeRequired:     "The connection must be upgraded to another protocol.",
	http.StatusMisdirectedRequest:  "The server has no users and does not accept the name in the header Host.",
	http.StatusTooManyRequests:     "Too many requests or too much data at the same time.",
	http.StatusInternalServerError: "A bug in the server, damaged data, or too little memory.",
	http.StatusServiceUnavailable: "Temporarily impossible, or the outcome is unknown: x-ingest-partial means that rows " +
		"are stored, x-svc-outcome that rows may be stored.",
	http.StatusGatewayTimeout: "Another node did not answer in time, or the request was cancelled.",
}

// errorResponses returns the components E400 and so on, to which operations refer.
func errorResponses(headers object) object {
	out := object{}
	for status, text := range statuses {
		h := insert(headers, nil).(object)
		switch status {
		case http.StatusTooManyRequests:
			h["retry-after"] = ref("headers/RetryAfterAlways")
		case http.StatusServiceUnavailable:
			h["retry-after"] = ref("headers/RetryAfterAlways")
			h["x-ingest-partial"] = ref("headers/Partial")
			h["x-svc-outcome"] = ref("headers/Outcome")
		case http.StatusUnauthorized:
			h["www-authenticate"] = ref("headers/Authenticate")
		case http.StatusMethodNotAllowed:
			h["allow"] = object{"required": true, "schema": object{"type": "string"}}
		case http.StatusUpgradeRequired:
			h["upgrade"] = object{"required": true, "schema": object{"type": "string"}}
		}
		out["E"+strconv.Itoa(status)] = object{
			"description": text, "headers": h,
			"content": object{"application/json": object{"schema": ref("schemas/Error")}},
		}
	}
	return out
}

func ref(to string) object { return object{"$ref": "#/components/" + to} }

// addErrors adds the possible errors of an operation, which follow from its permission and its key x-errors. Errors
// that the operation describes itself stay.
func addErrors(op object) {
	add := []int{http.StatusInternalServerError, http.StatusForbidden, http.StatusMisdirectedRequest}
	permission := op["x-permission"]
	if permission != "open" {
		add = append(add, http.StatusBadRequest, http.StatusUnauthorized, http.StatusRequestTimeout,
			http.StatusTooManyRequests,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout)
	}
	more, _ := op["x-errors"].([]any)
	for _, status := range more {
		add = append(add, status.(int))
	}
	delete(op, "x-errors")
	responses := op["responses"].(object)
	for _, status := range add {
		if key := strconv.Itoa(status); responses[key] == nil {
			responses[key] = ref("responses/E" + key)
		}
	}
}
