package pipeline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"cordwood/proto/schema"
	"cordwood/router/vrl/value"
)

// TestConvert has a row for each value and a column for each type. ! means that the value is refused.
func TestConvert(t *testing.T) {
	types := []schema.Type{
		schema.Int8, schema.Int64, schema.Uint16, schema.Uint64, schema.Float64, schema.Boolean, schema.String,
		schema.TimestampMillisecond, schema.JSON,
	}
	text := func(s string) value.Value { return value.NewString(s) }
	for _, tt := range []struct {
		v    value.Value
		want string
	}{
		{value.NewInt(7), `7 7 7 7 7.0 1 "7" 7 !`},
		{value.NewInt(-1), `-1 -1 ! ! -1.0 1 "-1" -1 !`},
		{value.NewInt(300), `! 300 300 300 300.0 1 "300" 300 !`},
		{value.NewInt(0), `0 0 0 0 0.0 0 "0" 0 !`},
		{
			value.NewInt(math.MaxInt64),
			`! 9223372036854775807 ! 9223372036854775807 9.223372036854776e18 1 "9223372036854775807" ! !`,
		},
		{value.NewFloat(2.9), `2 2 2 2 2.9 1 "2.9" ! !`},
		{value.NewFloat(-2.9), `-2 -2 ! 0 -2.9 1 "-2.9" ! !`},
		{value.NewFloat(1e30), `! 9223372036854775807 ! -1 1e30 1 "1000000000000000000000000000000" ! !`},
		{value.NewFloat(0), `0 0 0 0 0.0 0 "0" ! !`},
		{value.NewBool(true), `1 1 1 1 1.0 1 "true" ! !`},
		{value.NewBool(false), `0 0 0 0 0.0 0 "false" ! !`},
		{text("12"), `12 12 12 12 12.0 ! "12" 12 !`},
		{text("+12"), `12 12 12 12 12.0 ! "+12" ! !`},
		{text("-12"), `-12 -12 ! ! -12.0 ! "-12" -12 !`},
		{text(" 12"), `! ! ! ! ! ! " 12" ! !`},
		{text(""), `! ! ! ! ! ! "" ! !`},
		{text("-"), `! ! ! ! ! ! "-" ! !`},
		{text("++1"), `! ! ! ! ! ! "++1" ! !`},
		{text("+-1"), `! ! ! ! ! ! "+-1" ! !`},
		{text("1_000"), `! ! ! ! ! ! "1_000" ! !`},
		{text("0x10"), `! ! ! ! ! ! "0x10" ! !`},
		{text("1.5e3"), `! ! ! ! 1500.0 ! "1.5e3" ! !`},
		{text("nan"), `! ! ! ! ! ! "nan" ! !`},
		{text("true"), `! ! ! ! ! 1 "true" ! !`},
		{text("True"), `! ! ! ! ! ! "True" ! !`},
		{text("18446744073709551615"), `! ! ! -1 1.8446744073709552e19 ! "18446744073709551615" ! !`},
		{text("99999999999999999999"), `! ! ! ! 1e20 ! "99999999999999999999" ! !`},
		{text("2024-05-06T07:08:09.5+02:00"), `! ! ! ! ! ! "2024-05-06T07:08:09.5+02:00" 1714972089500 !`},
		{text("2024-05-06 07:08:09Z"), `! ! ! ! ! ! "2024-05-06 07:08:09Z" 1714979289000 !`},
		{value.NewUnixNano(-1), `! -1 ! ! ! ! "1969-12-31T23:59:59.999999999Z" -1 !`},
		{value.NewUnix(1<<40, 0), `! ! ! ! ! ! "36812-02-20T00:36:16Z" 1099511627776000 !`},
		{value.ArrayOf(value.NewInt(1), text("x")), `! ! ! ! ! ! "[1,\"x\"]" ! "[1,\"x\"]"`},
	} {
		var got []string
		for _, typ := range types {
			var k converter
			var c cell
			switch ok := k.convert(&c, tt.v, typ); {
			case !ok:
				got = append(got, "!")
			case typ.IsBytes():
				got = append(got, fmt.Sprintf("%q", c.bytes))
			case typ.IsFloat():
				got = append(got, string(value.AppendFloat(nil, c.f)))
			default:
				got = append(got, fmt.Sprint(c.i))
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.v, s, tt.want)
		}
	}
}

func TestColumnType(t *testing.T) {
	for text, want := range map[string]schema.Type{
		"Int8": schema.Int8, "uint64": schema.Uint64, "BOOL": schema.Boolean, "json": schema.JSON,
		"timestamp": schema.TimestampNanosecond, "epoch, ms": schema.TimestampMillisecond,
		"time,second": schema.TimestampSecond, "Epoch ,MICRO": schema.TimestampMicrosecond,
	} {
		if got, why := columnType(text); got != want || why != "" {
			t.Errorf("%q is %s (%s), want %s", text, got, why, want)
		}
	}
	for _, text := range []string{"", "int", "int64, ms", "epoch, ", "epoch, ms, s", "timestamp, m"} {
		if got, why := columnType(text); why == "" {
			t.Errorf("%q is %s", text, got)
		}
	}
}
