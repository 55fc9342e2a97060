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

func (d *diagnosis) add(severity, advice, format string, args ...any) {
	d.out = append(d.out, clusterapi.Problem{Severity: severity, Text: fmt.Sprintf(format, args...), Advice: advice})
}
