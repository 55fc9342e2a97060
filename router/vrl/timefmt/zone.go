package timefmt

import (
	"strings"
	"sync"
	"time"
)

// MaxZoneName is longer than the names of all zones, in bytes.
const MaxZoneName = 64

// maxZones bounds the names that are remembered. There are about 600 zones. More names can only be
// other spellings of their files, or names of zones that do not exist.
const maxZones = 1024

// zones remembers what names stand for, so that a program that takes them from records does
// not read files for each. nil stands for a name that no zone has.
var zones struct {
	mu     sync.RWMutex
	byName map[string]*time.Location
}

// SeenZone is Zone of a name that was looked up before; seen is false if it was not.
func SeenZone(name string) (zone *time.Location, seen bool) {
	zones.mu.RLock()
	defer zones.mu.RUnlock()
	zone, seen = zones.byName[name]
	return zone, seen
}

// Zone returns the zone of an IANA name, or nil. The first time that it is asked for a name
// it reads files.
func Zone(name string) *time.Location {
	if zone, seen := SeenZone(name); seen {
		return zone
	}
	if name == "" || name == "Local" || len(name) > MaxZoneName {
		return nil // the package time means other things by the first two
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
