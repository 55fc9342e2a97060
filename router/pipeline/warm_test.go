package pipeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestWarm sends random requests through one runner repeatedly. The result of each must equal that of a new
// runner.
func TestWarm(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(3, 5))}
	changes := [][]func(*Request){
		{having("svc_timestamp TimestampNanosecond ti, a Int64, b String, c Float64, d.e Json")},
		{having("svc_timestamp TimestampNanosecond ti, a Int64, b Int64 not null, message String default x")},
		{having("at TimestampMillisecond ti, a Int64, b String"), timeIndex("at;epoch;ms"), ignoreErrors},
		{having("svc_timestamp TimestampNanosecond ti, a Int64, b String"), hints(map[string]string{"ttl": "1d"})},
		{
			having("svc_timestamp TimestampNanosecond ti, a Int64, b String"),
			hints(map[string]string{"auto_create_table": "false"}),
		},
		{having("svc_timestamp TimestampNanosecond ti, a Json, b Json")},
		{},
	}
	adopted := 0
	var warm *identity
	for round := range 4000 {
		change := append([]func(*Request){skipErrors}, changes[(round/7+g.IntN(7)/6)%len(changes)]...)
		lines := g.lines()
		fresh := newIdentity()
		if warm == nil {
			warm = newIdentity()
		}
		want, wantErr := runOn(fresh, request(change...), lines)
		got, gotErr := runOn(warm, request(change...), lines)
		if want != got || fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
			t.Fatalf("round %d: %q\nfresh:\n%s%v\nwarm:\n%s%v", round, lines, want, wantErr, got, gotErr)
		}
		if warm.home != nil {
			adopted++
		}
		if !warm.renew() {
			warm = nil
		}
	}
	if adopted < 1000 {
		t.Errorf("only %d requests had a warm home", adopted)
	}
}

// TestWarmFollowsTheTable changes the table between two requests.
func TestWarmFollowsTheTable(t *testing.T) {
	r := newIdentity()
	for i, typ := range []string{"Int64", "Int64", "Float64", "Json"} {
		q := request(having("svc_timestamp TimestampNanosecond ti, a " + typ))
		out, err := runOn(r, q, []string{`{"a":1}`})
		if err != nil {
			t.Fatal(i, err)
		}
		want, err := run(q, []string{`{"a":1}`}, onlySlow)
		if err != nil || out != want {
			t.Errorf("step %d: %s%v, want %s", i, out, err, want)
		}
		r.renew()
	}
}

// TestWarmJSON checks that a field that one request stores as JSON is flattened in the next request, if that one does
// not ask for JSON.
func TestWarmJSON(t *testing.T) {
	r := newIdentity()
	table := having("svc_timestamp TimestampNanosecond ti, a Int64")
	q := request(table)
	for i, names := range [][]string{nil, {"o"}, nil, {"o"}, {"o"}} {
		q.JSON = names
		for _, record := range []string{`{"a":1}`, `{"a":1,"o":{"p":2}}`} {
			got, err := runOn(r, q, []string{record})
			if err != nil {
				t.Fatal(i, err)
			}
			want, err := run(q, []string{record}, onlySlow)
			if err != nil || got != want {
				t.Errorf("step %d: %s%v, want %s", i, got, err, want)
			}
			r.renew()
		}
	}
}

// runOn is run with a given runner, which is not released.
func runOn(r *identity, q *Request, lines []string) (string, error) {
	if err := r.start(q); err != nil {
		return "", err
	}
	for _, line := range lines {
		if err := r.ScanLine([]byte(line)); err != nil {
			return "", err
		}
	}
	out, err := r.Finish()
	if err != nil {
		return "", err
	}
	return dump(out), nil
}
