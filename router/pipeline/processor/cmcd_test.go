package processor

import (
	"testing"

	"cordwood/router/vrl/value"
)

func TestCMCD(t *testing.T) {
	run(t, "cmcd", []runCase{
		{
			"all keys", `field: q`,
			`{"q":"bl=1,br=2,bs,cid=\"c,x=1\",d=3,dl=4,mtp=5,nor=\"..%2Fa%20b\",nrr=\"0-9\",ot=v,pr=1.5,rtp=6,sf=h,sid=\"s\",` +
				`st=l,su,tb=7,v=1"}`,
			`{"q":"bl=1,br=2,bs,cid=\"c,x=1\",d=3,dl=4,mtp=5,nor=\"..%2Fa%20b\",nrr=\"0-9\",ot=v,pr=1.5,rtp=6,sf=h,sid=\"s\",` +
				`st=l,su,tb=7,v=1","q_bl":1,"q_br":2,"q_bs":true,"q_cid":"\"c","q_d":3,"q_dl":4,"q_mtp":5,"q_nor":"\"../a ` +
				`b\"","q_nrr":"\"0-9\"","q_ot":"v","q_pr":1.5,"q_rtp":6,"q_sf":"h","q_sid":"\"s\"","q_st":"l","q_su":true,` +
				`"q_tb":7,"q_v":"1"}`,
		},
		{
			"booleans with a value", `field: q`, `{"q":"bs=false,su=true"}`,
			`{"q":"bs=false,su=true","q_bs":false,"q_su":true}`,
		},
		{
			"renamed", `fields: ["q, c", {key: r, rename_to: e}]`, `{"q":"br=1","r":"br=2"}`,
			`{"c_br":1,"e_br":2,"q":"br=1","r":"br=2"}`,
		},
		{"unknown keys", `field: q`, `{"q":"com.example-x=1,BR=2,,br=3,y"}`, `{"q":"com.example-x=1,BR=2,,br=3,y","q_br":3}`},
		{
			"spaces around pairs", `field: q`, `{"q":"br=3, bs, ot=v"}`,
			`{"q":"br=3, bs, ot=v","q_br":3,"q_bs":true,"q_ot":"v"}`,
		},
		{"empty", `field: q`, `{"q":""}`, `{"q":""}`},
		{"empty text", `field: q`, `{"q":"cid="}`, `{"q":"cid=","q_cid":""}`},
		{"integral rate", `field: q`, `{"q":"pr=2"}`, `{"q":"pr=2","q_pr":2.0}`},
		{
			"value missing", `field: q`, `{"q":"bs,br"}`,
			`!Processor cmcd: the key br has no value: "br" (field "q", processors[0])`,
		},
		{"text missing", `field: q`, `{"q":"sid"}`, `!the key sid has no value`},
		{"no integer", `field: q`, `{"q":"br=1.5"}`, `!the key br needs an integer: "br=1.5"`},
		{"integer too large", `field: q`, `{"q":"br=9223372036854775808"}`, `!the key br needs an integer`},
		{"no number", `field: q`, `{"q":"pr=NaN"}`, `!the key pr needs a number`},
		{"no boolean", `field: q`, `{"q":"su=1"}`, `!the key su needs true or false`},
		{"not UTF-8", `field: q`, `{"q":"nor=%ff"}`, `!the key nor is not UTF-8`},
		{"missing", `field: q`, `{}`, `!missing field (field "q", processors[0])`},
		{
			"missing ignored", `{fields: [q, r], ignore_missing: true}`, `{"q":null,"r":"br=1"}`,
			`{"q":null,"r":"br=1","r_br":1}`,
		},
		{"wrong type", `field: q`, `{"q":1}`, `!expected a string, found an integer`},
		{"unknown option", `{field: q, prefix: x}`, ``, `!unknown key "prefix"`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzCMCD(f *testing.F) {
	var names Names
	step, err := compileOne("cmcd", `field: q`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`bl=1,bs,pr=1.5,nor="..%2Fa"`)
	f.Add(",=,nor=%,su=")
	f.Fuzz(func(_ *testing.T, s string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "q", Value: value.NewString(s)})
		_ = step.Apply(rec) // must not panic
	})
}

func BenchmarkCMCD(b *testing.B) {
	bench(b, "cmcd", `{field: q}`,
		`{"q":"br=3200,bs,d=4004,mtp=25400,nor=\"..%2F300kbps%2Ftrack.m4v\",ot=v,sid=\"6e2fb550\",tb=6000"}`)
}
