package cluster

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestRoundTrip sends random records and reads them back. Each value must be exactly the value that was sent, unless
// the answer was an error or contained a warning.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	n := New(t)
	n.Start()
	const seed = 20261123
	rng := rand.New(rand.NewPCG(seed, 1))
	texts := []string{
		``, `x`, `1`, `true`, `null`, ` `, `\u0000`, `\ud83d\ude00`, `\u00e9`, `\"`, `\\`, `a\nb`, `NaN`,
		`Infinity`, `\ufeff`, `'; DROP TABLE t`,
	}
	numbers := []string{
		`0`, `-0`, `1`, `-1`, `127`, `128`, `-129`, `9007199254740992`, `9007199254740993`, `-9007199254740993`,
		`9223372036854775807`, `9223372036854775808`,
		`-9223372036854775808`, `-9223372036854775809`, `18446744073709551615`, `18446744073709551616`,
		`18446744073709551617`, `1e400`, `1e300`, `-1e-300`, `5e-324`,
		`0.1`, `0.30000000000000004`, `0.21206708667586938`, `1.0`, `1e3`, `123456789012345678901234567890`, `-0.0`, `2.5`,
	}
	keys := []string{"a", "A", "a.b", "b", "é", "a b", "select", "svc", "x"}
	value := func() string {
		switch rng.IntN(8) {
		case 0, 1:
			return `"` + texts[rng.IntN(len(texts))] + strings.Repeat("z", rng.IntN(3)) + `"`
		case 2:
			return []string{"true", "false"}[rng.IntN(2)]
		case 3:
			return strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10)
		case 4:
			return strconv.FormatFloat(rng.NormFloat64()*1e10, 'g', -1, 64)
		case 5:
			return `{"b":` + numbers[rng.IntN(len(numbers))] + `}`
		}
		return numbers[rng.IntN(len(numbers))]
	}
	stored, refused := 0, 0
	for i := range 200 {
		record := `{"id":` + fmt.Sprint(i)
		for _, k := range keys {
			if rng.IntN(4) == 0 {
				record += `,"` + k + `":` + value()
			}
		}
		record += "}"
		table := fmt.Sprintf("t%d", i%50) // some of these tables exist already
		a, err := n.Do("POST", "/v1/ingest?pipeline_name=svc_identity&table="+table, strings.NewReader(record),
			"Content-Type", "application/json")
		if err != nil {
			t.Fatal(err)
		}
		if a.Status == 400 {
			refused++
			continue
		}
		warned := slices.ContainsFunc(a.Header["X-Svc-Warnings"], func(w string) bool {
			return !strings.Contains(w, "became Float64")
		})
		if a.Status != 200 || warned {
			t.Fatalf("seed %d: %s: %d: %s %v", seed, record, a.Status, a.Body, a.Header)
		}
		stored++
		dec := json.NewDecoder(strings.NewReader(record))
		dec.UseNumber()
		var sent map[string]any
		if err := dec.Decode(&sent); err != nil {
			t.Fatal(err)
		}
		var names []string
		var values []any
		for k, v := range sent {
			if inner, ok := v.(map[string]any); ok {
				k, v = k+".b", inner["b"]
			}
			// Read values as text, so that no JSON reader rounds them.
			names, values = append(names, fmt.Sprintf(`CAST("%s" AS VARCHAR)`, k)), append(values, v)
		}
		got := n.Rows(t, fmt.Sprintf(`SELECT %s FROM %s WHERE id = %d`, strings.Join(names, ", "), table, i))
		for k, v := range values {
			if len(got) != 1 || !sameValue(v, fmt.Sprint(got[0][k])) {
				t.Errorf("seed %d: %s in %s: %s was sent as %v and is %v", seed, record, table, names[k], v, got)
			}
		}
	}
	if stored < 60 || refused < 20 {
		t.Errorf("%d stored, %d refused: the records do not suit the test", stored, refused)
	}
}

// sameValue compares a sent value with the text of a stored one.
func sameValue(sent any, text string) bool {
	switch v := sent.(type) {
	case json.Number:
		if a, ok := new(big.Int).SetString(v.String(), 10); ok {
			if b, ok := new(big.Int).SetString(text, 10); ok {
				return a.Cmp(b) == 0
			}
			f, err := strconv.ParseFloat(text, 64) // a float that equals the integer exactly
			return err == nil && new(big.Float).SetInt(a).Cmp(big.NewFloat(f)) == 0
		}
		a, err := v.Float64()
		b, err2 := strconv.ParseFloat(text, 64)
		return err == nil && err2 == nil && a == b
	case bool:
		return text == strconv.FormatBool(v)
	case string:
		return v == text
	}
	return false
}
