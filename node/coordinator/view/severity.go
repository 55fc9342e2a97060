package view

import (
	"fmt"

	"cordwood/router/httpapi/clusterapi"
)

// The severities of problems.
const (
	critical = "critical" // something does not work
	warning  = "warning"  // something should be done
	info     = "info"     // good to know
)

var severities = []string{critical, warning, info}

// add adds a problem.
func (d *diagnosis) add(severity, advice, format string, args ...any) {
	d.out = append(d.out, clusterapi.Problem{Severity: severity, Text: fmt.Sprintf(format, args...), Advice: advice})
}

// offer names actions that follow the advice of the problem that was added last.
func (d *diagnosis) offer(actions ...clusterapi.Action) {
	last := &d.out[len(d.out)-1]
	last.Actions = append(last.Actions, actions...)
}

// addNode is the action of starting another node.
var addNode = clusterapi.Action{Kind: clusterapi.ActionNodeAdd}
