package processor

import (
	"testing"

	"cordwood/router/vrl/value"
)

func TestUserAgent(t *testing.T) {
	const (
		chrome = `Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 ` +
			`Safari/537.36`
		iphone = `Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, ` +
			`like Gecko) Version/17.1 Mobile/15E148 Safari/604.1`
		google = `Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)`
	)
	run(t, "user_agent", []runCase{
		{
			"desktop", `field: ua`, `{"ua":"` + chrome + `"}`,
			`{"ua":"` + chrome + `","ua_name":"Chrome","ua_os":"Windows","ua_os_version":"10.0","ua_type":"desktop",` +
				`"ua_version":"120.0.0.0"}`,
		},
		{
			"mobile", `field: "ua, by"`, `{"ua":"` + iphone + `"}`,
			`{"by_device":"iPhone","by_name":"Safari","by_os":"iOS","by_os_version":"17.1","by_type":"mobile",` +
				`"by_version":"17.1","ua":"` + iphone + `"}`,
		},
		{
			"bot", `fields: [{key: ua, rename_to: by}]`, `{"ua":"` + google + `"}`,
			`{"by_name":"Googlebot","by_type":"bot","by_url":"http://www.google.com/bot.html","by_version":"2.1","ua":"` +
				google + `"}`,
		},
		{"library", `field: ua`, `{"ua":"curl/8.5.0"}`, `{"ua":"curl/8.5.0","ua_name":"curl","ua_version":"8.5.0"}`},
		{
			"some properties", `{field: ua, properties: [os, name]}`, `{"ua":"` + chrome + `"}`,
			`{"ua":"` + chrome + `","ua_name":"Chrome","ua_os":"Windows"}`,
		},
		{"none", `field: ua`, `{"ua":"-"}`, `{"ua":"-"}`},
		{"empty", `field: ua`, `{"ua":""}`, `{"ua":""}`},
		{"missing", `field: ua`, `{}`, `!missing field (field "ua", processors[0])`},
		{
			"missing ignored", `{fields: [ua, ub], ignore_missing: true}`, `{"ua":null,"ub":"curl/8"}`,
			`{"ua":null,"ub":"curl/8","ub_name":"curl","ub_version":"8"}`,
		},
		{"wrong type", `field: ua`, `{"ua":7}`, `!expected a string, found an integer`},
		{
			"unknown property", `{field: ua, properties: [os, nam]}`, ``,
			`!user_agent.properties[1]: unknown property "nam", known are name, version, os, os_version, device, type, url, ` +
				`did you mean "name"?`,
		},
		{"property twice", `{field: ua, properties: [os, os]}`, ``, `!the property "os" is given twice`},
		{"no properties", `{field: ua, properties: []}`, ``, `!user_agent.properties: the list is empty`},
		{"unknown option", `{field: ua, property: [os]}`, ``, `!did you mean "properties"?`},
		{"no field", `{}`, ``, `!"field" or "fields" is required`},
	})
}

func FuzzUserAgent(f *testing.F) {
	var names Names
	step, err := compileOne("user_agent", `{field: ua}`, Env{}, &names)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(`Mozilla/5.0 (Linux; Android 13; Pixel 7 Build/TQ3A) Chrome/116.0 Mobile Safari/537.36`)
	f.Add(`CrOS x86_64;CrOS (Android;[https://`)
	f.Fuzz(func(t *testing.T, s string) {
		rec := NewRecord(&names)
		rec.Value = value.ObjectOf(value.Field{Key: "ua", Value: value.NewString(s)})
		if err := step.Apply(rec); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkUserAgent(b *testing.B) {
	bench(b, "user_agent", `{field: ua}`, `{"ua":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, `+
		`like Gecko) Chrome/120.0.0.0 Safari/537.36"}`)
}
