package coordinator

import (
	"slices"
	"testing"

	"cordwood/node/coordinator/operation"
	"cordwood/router/access"
)

// TestKindsHaveRows checks that package access defines the rights for every kind of operation, and
// for every other request.
func TestKindsHaveRows(t *testing.T) {
	for _, kind := range slices.Concat(operation.Kinds, []string{
		operation.RequestUndrain, operation.RequestRemove, operation.RequestPause, operation.RequestResume,
	}) {
		if need, known := access.OfOperation(kind); !known || need.Privilege == access.Undeclared ||
			need.Object.Name != kind {
			t.Errorf("the kind %s has no row in package access: add one that lists who may request it", kind)
		}
	}
}
