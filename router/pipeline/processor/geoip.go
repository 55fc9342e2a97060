package processor

import (
	"errors"
	"io/fs"
	"net/netip"

	"github.com/oschwald/maxminddb-golang/v2"

	"cordwood/router/vrl/value"
)

// compileGeoIP: geoip looks up the location of an IP address in a database of the server in MaxMind's format. If
// the server has no database, pipelines with this processor are refused.
//
//	properties: list of the properties to store; default all: continent_code, country_code,
//	            country_name, region_code, region_name, city_name, postal_code, timezone,
//	            latitude, longitude, accuracy_radius, asn and as_organization
//	language:   of the names, as in en (default), de or pt-BR, if the database has it
//
// The properties of an address go to <field>_<property>, or to <new name>_<property> if the field list gives a new
// name. For an unknown address, such as a private one, nothing is added. A text that is not an address is an error.
// The field itself stays.
//
// The file is mapped into memory when the pipeline is compiled. Replace it by renaming a new file, never by writing
// into it.
func compileGeoIP(o *Options) Apply {
	properties := o.properties(geoPropertyNames())
	language := o.String("language", "en")
	fields := o.Fields()
	if o.Env.GeoIPDatabase == "" {
		o.Fault("geoip needs a location database, but none is configured on this server; the operator must set its file")
		return nil
	}
	db, err := maxminddb.Open(o.Env.GeoIPDatabase)
	if err != nil {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // without the path, which the client must not see
		}
		o.Fault("the location database that is configured on this server cannot be read: %s", err)
		return nil
	}
	lookups := make([]geoLookup, len(properties))
	for i, p := range properties {
		lookups[i] = newGeoLookup(p, language)
	}
	return fields.EachStringWith(func(fl Field) func(*Record, string) error {
		outputs := o.propertyNames(fl, properties)
		return func(rec *Record, s string) error {
			address, err := netip.ParseAddr(s)
			if err != nil {
				return rec.Fail(fl.In.Text, value.NewString(s), "not an IP address")
			}
			if address = address.Unmap().WithZone(""); address.Is6() && db.Metadata.IPVersion == 4 {
				return nil
			}
			result := db.Lookup(address)
			if err := result.Err(); err != nil {
				return rec.Fail(fl.In.Text, value.NewString(s), "the location database is broken: %s", err)
			}
			if !result.Found() {
				return nil
			}
			for i := range lookups {
				if v := lookups[i].value(result); v.IsDefined() {
					rec.Set(outputs[i], v)
				}
			}
			return nil
		}
	})
}

// geoKind is the type of a property in the database.
type geoKind uint8

const (
	geoText geoKind = iota
	geoNumber
	geoInteger
)

// geoProperty is a property, and where it is in an entry of the database. A last part
// "names" is a map of languages.
type geoProperty struct {
	name string
	kind geoKind
	path []any
}

var geoProperties = []geoProperty{
	{"continent_code", geoText, []any{"continent", "code"}},
	{"country_code", geoText, []any{"country", "iso_code"}},
	{"country_name", geoText, []any{"country", "names"}},
	{"region_code", geoText, []any{"subdivisions", 0, "iso_code"}},
	{"region_name", geoText, []any{"subdivisions", 0, "names"}},
	{"city_name", geoText, []any{"city", "names"}},
	{"postal_code", geoText, []any{"postal", "code"}},
	{"timezone", geoText, []any{"location", "time_zone"}},
	{"latitude", geoNumber, []any{"location", "latitude"}},
	{"longitude", geoNumber, []any{"location", "longitude"}},
	{"accuracy_radius", geoInteger, []any{"location", "accuracy_radius"}},
	{"asn", geoInteger, []any{"autonomous_system_number"}},
	{"as_organization", geoText, []any{"autonomous_system_organization"}},
}

func geoPropertyNames() []string {
	names := make([]string, len(geoProperties))
	for i, p := range geoProperties {
		names[i] = p.name
	}
	return names
}

// geoLookup reads one property of an entry.
type geoLookup struct {
	kind geoKind
	path []any
}

func newGeoLookup(property, language string) geoLookup {
	for _, p := range geoProperties {
		if p.name != property {
			continue
		}
		path := p.path
		if path[len(path)-1] == "names" {
			path = append(path[:len(path):len(path)], language)
		}
		return geoLookup{p.kind, path}
	}
	return geoLookup{}
}

// value returns the property of an entry. It returns None if the property is missing or has another type.
func (l *geoLookup) value(entry maxminddb.Result) value.Value {
	switch l.kind {
	case geoText:
		var s string
		if err := entry.DecodePath(&s, l.path...); err == nil && s != "" {
			return value.NewString(s)
		}
	case geoNumber:
		var f *float64
		if err := entry.DecodePath(&f, l.path...); err == nil && f != nil {
			return value.NewFloat(*f)
		}
	case geoInteger:
		var n *uint32
		if err := entry.DecodePath(&n, l.path...); err == nil && n != nil {
			return value.NewInt(int64(*n))
		}
	}
	return value.None
}
