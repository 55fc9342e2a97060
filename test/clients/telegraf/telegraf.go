// Package telegraf imports the program that install_test.go builds, so that go.mod contains its modules.
package telegraf

import _ "github.com/influxdata/telegraf" // the command is in cmd/telegraf
