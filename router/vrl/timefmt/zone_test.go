package timefmt

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func TestZone(t *testing.T) {
	for name, found := range map[string]bool{
		"Europe/Berlin": true, "UTC": true, "America/Argentina/Buenos_Aires": true,
		"": false, "Local": false, "Mars/Olympus": false, "../../etc/passwd": false,
		strings.Repeat("a", MaxZoneName+1): false,
	} {
		for range 2 { // read from a file, then from the cache
			if zone := Zone(name); (zone != nil) != found || found && zone.String() != name {
				t.Errorf("%q: %v", name, zone)
			}
		}
	}
	first := Zone("Europe/Paris")
	if zone, seen := SeenZone("Europe/Paris"); !seen || zone != first {
		t.Error("the zone is not cached")
	}
	if _, seen := SeenZone("Asia/Kolkata/never"); seen {
		t.Error("SeenZone found a name that was never requested")
	}
}

// TestZonesAreBounded checks that the number of cached names is limited. Names come from records, so there may be any
// number of names.
func TestZonesAreBounded(t *testing.T) {
	var wg sync.WaitGroup
	for part := range 4 {
		wg.Go(func() {
			for i := range maxZones {
				Zone(fmt.Sprintf("Nowhere/%d_%d", part, i))
			}
		})
	}
	wg.Wait()
	if n := len(zones.byName); n > maxZones {
		t.Errorf("%d names are cached, want at most %d", n, maxZones)
	}
	if Zone("Europe/Berlin") == nil {
		t.Error("a zone is no longer found")
	}
}

// TestZoneKeepsItsName checks that a zone keeps its name, even if the memory of the text that named it is reused.
func TestZoneKeepsItsName(t *testing.T) {
	body := []byte("Asia/Tokyo")
	zone := Zone(unsafe.String(&body[0], len(body)))
	copy(body, "Asia/Seoul")
	if again := Zone("Asia/Tokyo"); again != zone || zone.String() != "Asia/Tokyo" {
		t.Errorf("the zone is now called %s", zone)
	}
}

// TestOneWayToZones checks that only this package reads zones from files, because other code would read them again for
// each record.
func TestOneWayToZones(t *testing.T) {
	for _, root := range []string{"../../vrl", "../../pipeline", "../../ingest"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasSuffix(path, "timefmt/zone.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if bytes.Contains(text, []byte("time.LoadLocation(")) {
				t.Errorf("%s calls time.LoadLocation: call timefmt.Zone", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkZone(b *testing.B) {
	for b.Loop() {
		if Zone("Europe/Berlin") == nil {
			b.Fatal("no such zone")
		}
	}
}
