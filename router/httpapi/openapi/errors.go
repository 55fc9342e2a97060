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
	text.WriteString("What kind of error it is, with its usual status. The numbers stay as they are.\n\n| code | status " +
		"| meaning |\n|---|---|---|\n")
	for _, e := range errs.Explanations() {
		values = append(values, int(e.Code))
		fmt.Fprintf(&text, "| %d | %d | %s |\n", e.Code, e.Code.Status(), e.Meaning)
	}
	return object{"type": "integer", "enum": values, "description": text.String()}
}

// statuses has the common error statuses of operations.
var statuses = map[int]string{
	http.StatusBadRequest:            "The request is wrong; send no other like it.",
	http.StatusUnauthorized:          "A user is needed, or the password is wrong.",
	http.StatusForbidden:             "The user may not do this, or the page of another site that sends it.",
	http.StatusNotFound:              "There is no such thing.",
	http.StatusMethodNotAllowed:      "The method may not do this; the header Allow names those that may.",
	http.StatusRequestTimeout:        "The request did not end, or its body did not come, in time.",
	http.StatusPreconditionFailed:    "It was changed meanwhile, or exists already: see If-Match and If-None-Match.",
	http.StatusRequestEntityTooLarge: "The body is too large.",
	http.StatusUnsupportedMediaType:  "The body is of a type, or compressed in a way, that is not known.",
	http.StatusUnprocessableEntity: "The Idempotency-Key was used for another body or other parameters; " +
		"nothing of this request is stored.",
	http.StatusUpgradeRequired:     "The connection has to change its protocol.",
	http.StatusMisdirectedRequest:  "The server has no users, and is not known by the name in the header Host.",
	http.StatusTooManyRequests:     "Too much at a time.",
	http.StatusInternalServerError: "A bug, damage, or too little memory.",
	http.StatusServiceUnavailable: "Not now, or not for certain: x-ingest-partial says that rows are stored, " +
		"x-svc-outcome that they may be.",
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
