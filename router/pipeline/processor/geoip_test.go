package processor

import (
	"encoding/binary"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"cordwood/router/vrl/value"
)

func TestGeoIP(t *testing.T) {
	env := Env{GeoIPDatabase: geoDatabase(t)}
	bad := filepath.Join(t.TempDir(), "bad.mmdb")
	if err := os.WriteFile(bad, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	const berlin = `"ip_accuracy_radius":20,"ip_as_organization":"Example Net","ip_asn":64500,"ip_city_name":"Berlin",` +
		`"ip_continent_code":"EU","ip_country_code":"DE","ip_country_name":"Germany","ip_latitude":52.5,` +
		`"ip_longitude":-0.0,"ip_postal_code":"10115","ip_region_code":"BE","ip_region_name":"Land ` +
		`Berlin","ip_timezone":"Europe/Berlin"`
	cases := []struct {
		env Env
		runCase
	}{
		{env, runCase{"all", `field: ip`, `{"ip":"1.2.3.4"}`, `{"ip":"1.2.3.4",` + berlin + `}`}},
		{
			env,
			runCase{
				"mapped address", `{field: ip, properties: [country_code]}`, `{"ip":"::ffff:1.2.3.4"}`,
				`{"ip":"::ffff:1.2.3.4","ip_country_code":"DE"}`,
			},
		},
		{
			env,
			runCase{
				"renamed", `{field: "ip, at", properties: [city_name]}`, `{"ip":"1.2.3.255"}`,
				`{"at_city_name":"Berlin","ip":"1.2.3.255"}`,
			},
		},
		{
			env,
			runCase{
				"renamed as a map", `{fields: [{key: ip, rename_to: at}], properties: [city_name]}`, `{"ip":"1.2.3.255"}`,
				`{"at_city_name":"Berlin","ip":"1.2.3.255"}`,
			},
		},
		{
			env,
			runCase{
				"language", `{field: ip, properties: [country_name, city_name], language: de}`, `{"ip":"1.2.3.4"}`,
				`{"ip":"1.2.3.4","ip_country_name":"Deutschland"}`,
			},
		},
		{env, runCase{"entry with little", `field: ip`, `{"ip":"2.9.9.9"}`, `{"ip":"2.9.9.9","ip_country_code":"FR"}`}},
		{env, runCase{"not known", `field: ip`, `{"ip":"10.0.0.1"}`, `{"ip":"10.0.0.1"}`}},
		{env, runCase{"IPv6 in a database of IPv4", `field: ip`, `{"ip":"fe80::1%eth0"}`, `{"ip":"fe80::1%eth0"}`}},
		{
			env,
			runCase{
				"no address", `field: ip`, `{"ip":"localhost"}`,
				`!Processor geoip: not an IP address: "localhost" (field "ip", processors[0])`,
			},
		},
		{env, runCase{"missing", `field: ip`, `{}`, `!missing field (field "ip", processors[0])`}},
		{env, runCase{"missing ignored", `{field: ip, ignore_missing: true}`, `{"ip":null}`, `{"ip":null}`}},
		{env, runCase{"wrong type", `field: ip`, `{"ip":7}`, `!expected a string, found an integer`}},
		{
			env,
			runCase{"unknown property", `{field: ip, properties: [city]}`, ``, `!geoip.properties[0]: unknown property "city"`},
		},
		{env, runCase{"language of wrong type", `{field: ip, language: [en]}`, ``, `!geoip.language: expected a string`}},
		{env, runCase{"unknown option", `{field: ip, lang: en}`, ``, `!unknown key "lang"`}},
		{env, runCase{"no field", `{}`, ``, `!"field" or "fields" is required`}},
		{
			Env{},
			runCase{"no database", `field: ip`, ``, `!geoip needs a location database, but none is configured`},
		},
		{
			Env{GeoIPDatabase: filepath.Join(t.TempDir(), "none")},
			runCase{
				"file missing", `field: ip`, ``,
				`!the location database that is configured on this server cannot be read: no such file or directory`,
			},
		},
		{
			Env{GeoIPDatabase: bad},
			runCase{"file broken", `field: ip`, ``, `!the location database that is configured on this server cannot be read`},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := runOne(t, "geoip", c.options, c.record, c.env)
			if want, isError := strings.CutPrefix(c.want, "!"); isError && strings.HasPrefix(got, "!") &&
				strings.Contains(got, want) {
				return
			}
			if got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func BenchmarkGeoIP(b *testing.B) {
	var names Names
	step, err := compileOne("geoip", `{field: ip, properties: [country_code, city_name]}`,
		Env{GeoIPDatabase: geoDatabase(b)}, &names)
	if err != nil {
		b.Fatal(err)
	}
	rec := NewRecord(&names)
	rec.Value = value.ObjectOf(value.Field{Key: "ip", Value: value.NewString("1.2.3.4")})
	b.ReportAllocs()
	for b.Loop() {
		if err := step.Apply(rec); err != nil {
			b.Fatal(err)
		}
	}
}

// geoDatabase writes a database with two networks in MaxMind's format and returns its path.
func geoDatabase(t testing.TB) string {
	t.Helper()
	names := func(en, de string) map[string]any {
		m := map[string]any{"en": en}
		if de != "" {
			m["de"] = de
		}
		return m
	}
	db := geoWriter{nodes: [][2]int{{-1, -1}}}
	db.add("1.2.3.0/24", map[string]any{
		"continent":    map[string]any{"code": "EU"},
		"country":      map[string]any{"iso_code": "DE", "names": names("Germany", "Deutschland")},
		"subdivisions": []any{map[string]any{"iso_code": "BE", "names": names("Land Berlin", "")}},
		"city":         map[string]any{"names": names("Berlin", "")},
		"postal":       map[string]any{"code": "10115"},
		"location": map[string]any{
			"time_zone": "Europe/Berlin", "latitude": 52.5, "longitude": math.Copysign(0, -1), "accuracy_radius": uint16(20),
		},
		"autonomous_system_number": uint32(64500), "autonomous_system_organization": "Example Net",
	})
	db.add("2.0.0.0/8", map[string]any{"country": map[string]any{"iso_code": "FR"}})
	path := filepath.Join(t.TempDir(), "places.mmdb")
	if err := os.WriteFile(path, db.bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// geoWriter creates a small database: a tree over the bits of IPv4 addresses with 24-bit records, the data, and
// the metadata.
type geoWriter struct {
	nodes [][2]int // -1: nothing; n ≥ 1<<20: data at n - 1<<20; else a node
	data  []byte
}

func (w *geoWriter) add(network string, entry map[string]any) {
	p := netip.MustParsePrefix(network)
	ip := binary.BigEndian.Uint32(p.Addr().AsSlice())
	at := 0
	for i := range p.Bits() {
		bit := ip >> (31 - i) & 1
		next := w.nodes[at][bit]
		switch {
		case i == p.Bits()-1:
			w.nodes[at][bit] = 1<<20 + len(w.data)
		case next < 0:
			next = len(w.nodes)
			w.nodes = append(w.nodes, [2]int{-1, -1})
			w.nodes[at][bit] = next
		}
		at = next
	}
	w.data = appendGeo(w.data, entry)
}

func (w *geoWriter) bytes() []byte {
	var b []byte
	for _, n := range w.nodes {
		for _, r := range n {
			switch {
			case r < 0:
				r = len(w.nodes)
			case r >= 1<<20:
				r += len(w.nodes) + 16 - 1<<20
			}
			b = append(b, byte(r>>16), byte(r>>8), byte(r))
		}
	}
	b = append(b, make([]byte, 16)...)
	b = append(b, w.data...)
	b = append(b, "\xab\xcd\xefMaxMind.com"...)
	return appendGeo(b, map[string]any{
		"node_count": uint32(len(w.nodes)), "record_size": uint16(24), "ip_version": uint16(4),
		"database_type": "Test", "languages": []any{"en"}, "description": map[string]any{"en": "test"},
		"binary_format_major_version": uint16(2), "binary_format_minor_version": uint16(0), "build_epoch": uint64(1),
	})
}

// appendGeo appends a value: a byte with type and size, a byte with an extended type if needed, and the content.
func appendGeo(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		if len(v) >= 29 {
			return append(append(b, 2<<5|29, byte(len(v)-29)), v...)
		}
		return append(append(b, 2<<5|byte(len(v))), v...)
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 3<<5|8), math.Float64bits(v))
	case uint16:
		return binary.BigEndian.AppendUint16(append(b, 5<<5|2), v)
	case uint32:
		return binary.BigEndian.AppendUint32(append(b, 6<<5|4), v)
	case uint64:
		return binary.BigEndian.AppendUint64(append(b, 8, 9-7), v)
	case []any:
		b = append(b, byte(len(v)), 11-7)
		for _, e := range v {
			b = appendGeo(b, e)
		}
		return b
	case map[string]any:
		b = append(b, 7<<5|byte(len(v)))
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			b = appendGeo(appendGeo(b, k), v[k])
		}
		return b
	}
	panic("unknown type")
}
