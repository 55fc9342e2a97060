package chaos

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cordwood/test/cluster"
)

// Attacker is an untrusted client of one server. It has the passwords of a user that may only read and of a user that
// may only ingest. It abandons each request after Patience, like a client that disconnects.
type Attacker struct {
	Node           *cluster.Node
	Reader, Writer *url.Userinfo
	Patience       time.Duration
	// Client sends the requests.
	Client *http.Client
}

// Attack is one kind of attack. The server may answer it in any way, but it must not end, lose a row, or stop serving
// other clients.
type Attack struct {
	Name string
	Run  func(ctx context.Context, a *Attacker)
}

// Attacks returns attacks that once ended or blocked a server, and variations of them.
func Attacks() []Attack {
	query := func(name, sql string) Attack {
		return Attack{"query: " + name, func(ctx context.Context, a *Attacker) { a.Query(ctx, sql) }}
	}
	dry := func(name, vrl, text string) Attack {
		return Attack{"dry run: " + name, func(ctx context.Context, a *Attacker) { a.DryRun(ctx, vrl, text) }}
	}
	ingest := func(name, contentType string, body func() []byte) Attack {
		return Attack{"ingest: " + name, func(ctx context.Context, a *Attacker) { a.Ingest(ctx, contentType, "", body()) }}
	}
	repeat := strings.Repeat
	return []Attack{
		ingest("a long text before short ones", "application/x-ndjson", longBeforeShort),
		{"ingest: many short lines in little gzip", func(ctx context.Context, a *Attacker) {
			a.Ingest(ctx, "text/plain", "gzip", squeezed("x\n", 30_000_000))
		}},
		{"ingest: many empty objects in little gzip", func(ctx context.Context, a *Attacker) {
			a.Ingest(ctx, "application/x-ndjson", "gzip", squeezed("{}\n", 20_000_000))
		}},
		ingest("one object with many keys", "application/x-ndjson", func() []byte {
			var b bytes.Buffer
			for i := range 200_000 {
				fmt.Fprintf(&b, `,"k%d":%d`, i, i)
			}
			return append(append([]byte(`{"a":1`), b.Bytes()...), '}')
		}),
		ingest("other columns in each record", "application/x-ndjson", func() []byte {
			var b bytes.Buffer
			for i := range 100_000 {
				fmt.Fprintf(&b, "{\"c%d\":1}\n", i%4000)
			}
			return b.Bytes()
		}),
		ingest("a table for each record", "application/x-ndjson", func() []byte {
			var b bytes.Buffer
			for i := range 5000 {
				fmt.Fprintf(&b, "{\"a\":1,\"svc_table_suffix\":\"_%d\"}\n", i)
			}
			return b.Bytes()
		}),
		{"ingest: bodies that stall", stalledBodies},
		{"query: upload that breaks off", brokenUpload},

		query("strings that double",
			`WITH RECURSIVE x AS (SELECT 'aaaaaaaaaaaaaaaa' s UNION ALL SELECT s||s FROM x WHERE `+
				`length(s)<100000000000) SELECT max(length(s)) FROM x`),
		query("a list of ten billion", `SELECT len(list(i)) FROM range(10000000000) r(i)`),
		query("a sorted list", `SELECT len(list_sort(list(i))) FROM range(100000000) r(i)`),
		query("endless recursion", `WITH RECURSIVE x AS (SELECT 1 a UNION ALL SELECT a+1 FROM x) SELECT count(*) FROM x`),
		query("distinct texts", `SELECT count(DISTINCT i::varchar) FROM range(10000000000) r(i)`),
		query("a long count", `SELECT count(*) FROM range(1000000000000)`),
		query("deep JSON", `SELECT json_contains('`+repeat("[", 60_000)+repeat("]", 60_000)+`','1')`),
		query("deep JSON as VARIANT", `SELECT ('`+repeat("[", 60_000)+repeat("]", 60_000)+`'::JSON)::VARIANT`),
		query("deep structure", `SELECT from_json('{}','`+repeat(`{"a":`, 20_000)+`"INTEGER"`+repeat("}", 20_000)+`')`),
		query("the smallest offset", `SELECT lag(a, -9223372036854775808) OVER () FROM (SELECT 1 a)`),
		query("a sample of two billion", `SELECT reservoir_quantile(i, 0.5, 2000000000) FROM range(1000) r(i)`),
		query("similarity of long texts", `SELECT jaro_winkler_similarity(repeat('ab', 2000000), repeat('ba', 2000000))`),
		query("nested conditions", `SELECT `+repeat("(", 5000)+"1"+repeat(")", 5000)),

		dry("words without a value", `. = parse_logfmt!(string!(.d))`, repeat("a ", 700_000)),
		dry("words without a pair", `. = parse_key_value!(string!(.d))`, repeat("a ", 700_000)),
		dry("quotes of CSV", `.x = parse_csv!(string!(.d))`, repeat(`\"a,`, 400_000)),
		dry("at signs", `.x = parse_url!(string!(.d))`, "http://"+repeat("@", 60_000)),
		dry("parameters", `.x = parse_query_string!(string!(.d))`, repeat("a&", 4_000_000)),
		dry("nested loops",
			`for_each(split(string!(.d), "")) -> |_i, _v| { for_each(split(string!(.d), "")) -> |_j, _w| { true } }`,
			repeat("a", 100_000)),

		{"tails: as many as possible", manyTails},
		{"passwords: wrong ones", wrongPasswords},
	}
}

// Query runs a query as the user that may read.
func (a *Attacker) Query(ctx context.Context, sql string) {
	a.send(ctx, a.Reader, http.MethodPost, "/v1/sql", strings.NewReader("sql="+url.QueryEscape(sql)), "Content-Type",
		"application/x-www-form-urlencoded")
}

// DryRun runs a program over one record {"d": text}. text is escaped as in a JSON string.
func (a *Attacker) DryRun(ctx context.Context, vrl, text string) {
	pipeline := "version: 2\nprocessors:\n  - vrl:\n      source: |\n        " + vrl + "\n        .\n"
	body := fmt.Sprintf(`{"pipeline":%q,"data":[{"d":"%s"}]}`, pipeline, text)
	a.send(ctx, a.Reader, http.MethodPost, "/v1/pipelines/_dryrun", strings.NewReader(body), "Content-Type",
		"application/json")
}

// Ingest sends a body as the user that may only ingest.
func (a *Attacker) Ingest(ctx context.Context, contentType, encoding string, body []byte) {
	a.send(ctx, a.Writer, http.MethodPost, "/v1/ingest?pipeline_name=svc_identity&table=attacked", bytes.NewReader(body),
		"Content-Type", contentType, "Content-Encoding", encoding)
}

// send sends a request and reads its answer, which is not checked.
func (a *Attacker) send(
	ctx context.Context, user *url.Userinfo, method, path string, body io.Reader, header ...string,
) {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.Node.HTTP+path, body)
	if err != nil {
		panic(err) // this file built the request
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i+1] != "" {
			req.Header.Set(header[i], header[i+1])
		}
	}
	password, _ := user.Password()
	req.SetBasicAuth(user.Username(), password)
	resp, err := a.Client.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
}

// longBeforeShort returns a line of 1.5 MB and 60,000 short lines, whose average length is misleading.
func longBeforeShort() []byte {
	var b bytes.Buffer
	b.WriteString(`{"m":"` + strings.Repeat("x", 1_500_000) + "\"}\n")
	for i := range 60_000 {
		fmt.Fprintf(&b, "{\"m\":\"GET /index/%d 200\"}\n", i)
	}
	return b.Bytes()
}

// squeezed returns n copies of a text, compressed with gzip.
func squeezed(text string, n int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	chunk := []byte(strings.Repeat(text, 10_000))
	for range n / 10_000 {
		if _, err := w.Write(chunk); err != nil {
			panic(err) // writing to memory cannot fail
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// stalledBodies announces large bodies and sends little of them.
func stalledBodies(ctx context.Context, a *Attacker) {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	for range 20 {
		conn := a.dial(ctx, "POST /v1/ingest?pipeline_name=svc_identity&table=attacked HTTP/1.1\r\n",
			"Content-Type: text/plain\r\nContent-Length: 60000000\r\n\r\nabc")
		if conn != nil {
			defer conn.Close()
		}
	}
	<-ctx.Done()
}

// brokenUpload closes the connection before the announced length of a body is reached.
func brokenUpload(ctx context.Context, a *Attacker) {
	conn := a.dial(ctx, "POST /v1/ingest?pipeline_name=svc_identity&table=attacked HTTP/1.1\r\n",
		"Content-Type: text/plain\r\nContent-Length: 1000\r\n\r\nabc")
	if conn != nil {
		conn.Close()
	}
}

// dial opens a connection and sends the head of a request as the user that may only ingest. It returns nil if the
// server accepts no more connections.
func (a *Attacker) dial(ctx context.Context, first, rest string) net.Conn {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", strings.TrimPrefix(a.Node.HTTP, "http://"))
	if err != nil {
		return nil
	}
	req, err := http.NewRequest(http.MethodGet, a.Node.HTTP, nil)
	if err != nil {
		panic(err) // the server's own address
	}
	password, _ := a.Writer.Password()
	req.SetBasicAuth(a.Writer.Username(), password)
	// The server may have closed the connection.
	_, _ = io.WriteString(conn, first+"Host: "+req.Host+"\r\nAuthorization: "+req.Header.Get("Authorization")+"\r\n"+rest)
	return conn
}

// manyTails opens as many tails as the server allows one user.
func manyTails(ctx context.Context, a *Attacker) {
	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	done := make(chan struct{})
	const tails = 80
	for range tails {
		go func() {
			a.send(ctx, a.Reader, http.MethodGet, "/v1/tail?table="+TableName(0), nil)
			done <- struct{}{}
		}()
	}
	for range tails {
		<-done
	}
}

// wrongPasswords guesses the password of a user.
func wrongPasswords(ctx context.Context, a *Attacker) {
	for i := range 200 {
		a.send(ctx, url.UserPassword("ann", fmt.Sprint("guess", i)), http.MethodPost, "/v1/sql",
			strings.NewReader("sql=SELECT+1"))
	}
}
