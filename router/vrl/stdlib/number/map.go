package number

import (
	"math"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// The mean radius of the Earth, and the factor from kilometers to miles.
const (
	earthRadius = 6371.0088
	milesPerKm  = 0.6213712
)

var haversine = &fn.Function{
	Name:  "haversine",
	Group: fn.Map,
	Doc: "Returns the distance between two points on the Earth, which is treated as a sphere, and the bearing " +
		"from the first point to the second, in degrees from north.",
	Params: []fn.Param{
		{Name: "latitude1", Doc: "The latitude of the first point, in degrees.", Kind: kind.Float},
		{Name: "longitude1", Doc: "The longitude of the first point.", Kind: kind.Float},
		{Name: "latitude2", Doc: "The latitude of the second point.", Kind: kind.Float},
		{Name: "longitude2", Doc: "The longitude of the second point.", Kind: kind.Float},
		{
			Name: "measurement_unit", Doc: "The unit of the distance.", Kind: kind.String, Optional: true,
			Default: value.NewString("kilometers"), Constant: true,
			Enum: []fn.Enum{{Value: "kilometers", Doc: "kilometers"}, {Value: "miles", Doc: "miles"}},
		},
	},
	Returns: kind.ObjectOf(kind.Field{Name: "distance", Kind: kind.Float}, kind.Field{Name: "bearing", Kind: kind.Float}),
	Examples: []fn.Example{
		{
			Title:  "in kilometers",
			Source: `haversine(0.0, 0.0, 10.0, 10.0)`,
			Result: `{"bearing":44.561,"distance":1568.5227233}`,
		},
		{
			Title:  "in miles",
			Source: `haversine(0.0, 0.0, 10.0, 10.0, measurement_unit: "miles")`,
			Result: `{"bearing":44.561,"distance":974.6348468}`,
		},
	},
	Impl: fn.Impl{N: func(_ *fn.Frame, args []value.Value) (value.Value, bool) {
		rad := func(i int) float64 { return args[i].Float() * math.Pi / 180 }
		lat1, lat2, dLon := rad(0), rad(2), rad(3)-rad(1)
		sinLat, sinLon := math.Sin((lat2-lat1)/2), math.Sin(dLon/2)
		a := sinLat*sinLat + math.Cos(lat1)*math.Cos(lat2)*sinLon*sinLon
		distance := earthRadius * 2 * math.Asin(math.Sqrt(min(a, 1)))
		if args[4].Str() == "miles" {
			distance *= milesPerKm
		}
		y := math.Sin(dLon) * math.Cos(lat2)
		x := math.Cos(lat1)*math.Sin(lat2) - math.Sin(lat1)*math.Cos(lat2)*math.Cos(dLon)
		bearing := math.Mod(math.Atan2(y, x)*180/math.Pi+360, 360)
		o := value.MakeFields(2)
		if math.IsNaN(bearing) || math.IsNaN(distance) {
			bearing, distance = 0, 0 // for infinite coordinates
		}
		o.Add("bearing", value.NewFloat(math.Round(bearing*1e3)/1e3))
		o.Add("distance", value.NewFloat(math.Round(distance*1e7)/1e7))
		return o.Value(), true
	}},
}
