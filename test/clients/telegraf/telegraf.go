// Package telegraf names the program that install_test.go builds here, so that its modules are those of go.mod.
package telegraf

import _ "github.com/influxdata/telegraf" // its program is cmd/telegraf
