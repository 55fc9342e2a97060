// Package zone loads the time zones that clients specify with a statement.
package zone

import (
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones must also work on hosts without a zone database

	"cordwood/proto/errs"
	"cordwood/proto/lazyregexp"
)

var offset = lazyregexp.New(`^([+-])(\d{1,2})(?::?(\d{2}))?$`)

// Load returns the zone for an IANA name such as Europe/Berlin, or for an offset such as +02:00. An
// empty name is UTC.
func Load(name string) (*time.Location, error) {
	switch strings.ToUpper(strings.TrimSpace(name)) {
	case "", "UTC", "GMT", "Z", "DEFAULT":
		return time.UTC, nil
	}
	if m := offset.FindStringSubmatch(name); m != nil {
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		if seconds := (hours*60 + minutes) * 60; hours <= 15 && minutes < 60 {
			if m[1] == "-" {
				seconds = -seconds
			}
			return time.FixedZone(name, seconds), nil
		}
	}
	// "Local" would be the zone of the server, which has no meaning for a client.
	if l, err := time.LoadLocation(name); err == nil && !strings.EqualFold(name, "local") && len(name) <= 64 {
		return l, nil
	}
	return nil, errs.New(errs.InvalidArguments,
		"the time zone %.60q is not known: use a name such as Europe/Berlin, or an offset such as +02:00", name)
}
