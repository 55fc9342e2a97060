package text_test

import (
	"strings"
	"testing"

	"cordwood/router/vrl"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/value"
	"cordwood/router/vrl/vrltest"
)

func TestChangeCase(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		{Source: `snakecase("HTTPServerID")`, Want: `"http_server_id"`},
		{Source: `snakecase("parseJSON2XML")`, Want: `"parse_json_2_xml"`},
		{Source: `snakecase("__a--b  c__")`, Want: `"a_b_c"`},
		{Source: `snakecase("")`, Want: `""`},
		{Source: `snakecase("ÜberGröße")`, Want: `"über_größe"`},
		{Source: `snakecase("a.b")`, Want: `"a.b"`},
		{Source: `snakecase("someText", original_case: "snake_case")`, Want: `"sometext"`},
		{Source: `snakecase("some_text", original_case: "camelCase")`, Want: `"some_text"`},
		{Source: `snakecase("ABTest", excluded_boundaries: ["acronym"])`, Want: `"abtest"`},
		{Source: `snakecase("x", excluded_boundaries: ["middle"])`, CompileError: "E403"},
		{Source: `camelcase("Some-HTTP request")`, Want: `"someHttpRequest"`},
		{Source: `camelcase("ßig wort")`, Want: `"ßigWort"`},
		{Source: `pascalcase("ßig wort")`, Want: `"SSigWort"`},
		{Source: `kebabcase("some_text here")`, Want: `"some-text-here"`},
		{Source: `screamingsnakecase("ßAßB")`, Want: `"SSASSB"`},
		{Source: `camelcase("ΟΔΟΣ_ΟΔΟΣ")`, Want: `"οδοςΟδος"`},
		{Source: `screamingsnakecase("someText2")`, Want: `"SOME_TEXT_2"`},
		{Source: `camelcase("x", original_case: "Title Case")`, CompileError: "E401"},
	})
}

// TestCaseIsPaid checks that non-ASCII characters, each of which may be a word, are charged ten times as much as ASCII
// characters.
func TestCaseIsPaid(t *testing.T) {
	for unit, perByte := range map[string]int{"aB": 1, "ßA": 8, "_é": 8, "e\u0301": 8} {
		text := strings.Repeat(unit, 10_000)
		for _, name := range []string{"camelcase", "kebabcase", "pascalcase", "screamingsnakecase", "snakecase"} {
			p, _, err := vrl.Compile("x = "+name+"(string!(.h))", vrl.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var m fn.Meter
			m.Start(nil, 0)
			const budget = 1 << 30
			_ = m.Begin(fn.Budget{Steps: budget, Bytes: budget})
			event := value.ObjectOf(value.Field{Key: "h", Value: value.NewString(text)})
			if _, err := p.RunMetered(&m, &event, nil); err != nil {
				t.Fatal(err)
			}
			if steps := budget - m.Record.Steps; steps < perByte*len(text) {
				t.Errorf("%s of %d bytes of %q takes %d steps, want %d a byte", name, len(text), unit, steps, perByte)
			}
		}
	}
}

func TestCommunityID(t *testing.T) {
	vrltest.Run(t, []vrltest.Case{
		// The values come from the baseline of the specification.
		{
			Name:   "ICMP has types for ports",
			Source: `community_id!("192.168.0.89", "192.168.0.1", 1, source_port: 8, destination_port: 0)`,
			Want:   `"1:X0snYXpgwiv9TZtqg64sgzUn6Dk="`,
		},
		{
			Name:   "the answer",
			Source: `community_id!("192.168.0.1", "192.168.0.89", 1, source_port: 0, destination_port: 8)`,
			Want:   `"1:X0snYXpgwiv9TZtqg64sgzUn6Dk="`,
		},
		{
			Name: "IPv6",
			Source: `community_id!("fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 58, source_port: ` +
				`135, destination_port: 0)`,
			Want: `"1:dGHyGvjMfljg6Bppwm3bg0LO8TY="`,
		},
		{Source: `community_id!("x", "1.2.3.4", 46)`, RunError: "unable to parse source IP address"},
		{Source: `community_id!("1.2.3.4", "::1", 46)`, RunError: "both be IPv4 or both IPv6"},
		{Source: `community_id!("1.2.3.4", "5.6.7.8", 256)`, RunError: "protocol must be from 0 to 255"},
		{Source: `community_id!("1.2.3.4", "5.6.7.8", 6, 65536, 1)`, RunError: "source_port must be from 0 to 65535"},
		{Source: `community_id!("1.2.3.4", "5.6.7.8", 1)`, RunError: "src port and dst port should be set"},
	})
}
