package number_test

import (
	"testing"

	"cordwood/router/vrl/vrltest"
)

func TestHaversine(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Name: "the same point", Source: `haversine(52.5, 13.4, 52.5, 13.4)`, Want: `{"bearing":0.0,"distance":0.0}`},
		{
			Name:   "half around the Earth",
			Source: `haversine(0.0, 0.0, 0.0, 180.0)`,
			Want:   `{"bearing":90.0,"distance":20015.114442}`,
		},
		{Name: "to the west", Source: `haversine(0.0, 0.0, 0.0, -1.0).bearing`, Want: `270.0`},
		{Source: `haversine(0.0, 0.0, 0.0, 0.0, measurement_unit: "yards")`, CompileError: "E401"},
		{Source: `haversine(0, 0, 0, 0)`, CompileError: "E110"},
	})
}
