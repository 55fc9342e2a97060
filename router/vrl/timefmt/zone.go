package timefmt

import (
	"strings"
	"sync"
	"time"
)

// MaxZoneName is longer than any zone name, in bytes.
const MaxZoneName = 64

// maxZones limits the number of names that are cached. There are about 600 zones. Further names are other spellings
// of their files, or names that do not exist.
const maxZones = 1024

// zones caches zones by name, so that a program that takes names from records does not read files for each record.
// nil means that the zone does not exist.
var zones struct {
	mu     sync.RWMutex
	byName map[string]*time.Location
}

// SeenZone does what Zone does, but only for names that are cached. If the name is not cached, seen is false.
func SeenZone(name string) (zone *time.Location, seen bool) {
	zones.mu.RLock()
	defer zones.mu.RUnlock()
	zone, seen = zones.byName[name]
	return zone, seen
}

// Zone returns the zone with an IANA name, or nil. It reads files when it gets a name for the first time.
func Zone(name string) *time.Location {
	if zone, seen := SeenZone(name); seen {
		return zone
	}
	if name == "" || name == "Local" || len(name) > MaxZoneName {
		return nil // package time gives these names another meaning
	}
	name = strings.Clone(name) // the zone and the map keep it
	zone, err := time.LoadLocation(name)
	if err != nil {
		zone = nil
	}
	zones.mu.Lock()
	defer zones.mu.Unlock()
	if zones.byName == nil || len(zones.byName) >= maxZones {
		zones.byName = make(map[string]*time.Location)
	}
	zones.byName[name] = zone
	return zone
}
