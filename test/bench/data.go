package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// The data sets, by the names of their files.
const (
	setNginx  = "nginx.ndjson"
	setApp    = "app.ndjson"
	setAccess = "access.txt"
)

// start is the time of the first row; the rows are a few milliseconds apart.
var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)

// dataSet returns the file of a data set, and creates it if it is missing. The same number of rows
// gives the same bytes on every machine.
func dataSet(dir, set string, rows int) (string, error) {
	file := filepath.Join(dir, fmt.Sprintf("%d-%s", rows, set))
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	f, err := os.Create(file + ".tmp")
	if err != nil {
		return "", err
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	g := newGenerator()
	var line []byte
	for range rows {
		switch set {
		case setNginx:
			line = g.hit().json(line[:0])
		case setAccess:
			line = g.hit().combined(line[:0])
		default:
			line = g.event(line[:0])
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return "", err
		}
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return file, os.Rename(f.Name(), file)
}

// generator generates rows. Its state is what the rows have in common.
type generator struct {
	r      *rand.Rand
	now    time.Time
	paths  *rand.Zipf
	agents *rand.Zipf
	addrs  *rand.Zipf
	pods   []string
	agent  []string
}

func newGenerator() *generator {
	r := rand.New(rand.NewPCG(7, 2026))
	g := &generator{
		r: r, now: start,
		paths: rand.NewZipf(r, 1.1, 4, 120_000), agents: rand.NewZipf(r, 1.2, 3, 800),
		addrs: rand.NewZipf(r, 1.05, 8, 60_000),
	}
	for i := range 72 {
		g.pods = append(g.pods, fmt.Sprintf("%s-%08x-%s", services[i%len(services)], r.Uint32(), g.word(5)))
	}
	for range 801 {
		g.agent = append(g.agent,
			fmt.Sprintf("Mozilla/5.0 (%s) AppleWebKit/537.36 (KHTML, like Gecko) %s/%d.0.%d.%d Safari/537.36",
				systems[r.IntN(len(systems))], browsers[r.IntN(len(browsers))], 90+r.IntN(60), r.IntN(6000), r.IntN(200)))
	}
	return g
}

var (
	services = []string{"auth", "cart", "catalog", "checkout", "email", "gateway", "orders", "pricing", "search", "stock"}
	systems  = []string{
		"Windows NT 10.0; Win64; x64", "X11; Linux x86_64", "Macintosh; Intel Mac OS X 10_15_7",
		"iPhone; CPU iPhone OS 18_5 like Mac OS X", "Linux; Android 15; Pixel 9",
	}
	browsers = []string{"Chrome", "Firefox", "Version", "Edg"}
	methods  = []string{"GET", "GET", "GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE"}
	statuses = []int{200, 200, 200, 200, 200, 200, 200, 201, 204, 301, 304, 400, 401, 404, 404, 429, 500, 502, 503}
	refs     = []string{
		"-", "-", "https://www.example.com/", "https://search.example.org/q/", "https://news.example.net/item-",
	}
	lands = []string{"US", "DE", "FR", "IN", "BR", "JP", "GB", "AU", "NL", "SE", "PL", "ZA"}
)

func (g *generator) tick() time.Time {
	g.now = g.now.Add(time.Duration(500+g.r.IntN(8000)) * time.Microsecond)
	return g.now
}

func (g *generator) word(n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[g.r.IntN(len(letters))]
	}
	return string(b)
}

func (g *generator) hex(n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[g.r.IntN(16)]
	}
	return string(b)
}

// hit is one request of a web server's access log.
type hit struct {
	time                              time.Time
	host, addr, method, path, referer string
	agent, id, upstream, country      string
	status, bytes                     int
	millis, upstreamMillis            int
}

func (g *generator) hit() hit {
	p, a := g.paths.Uint64(), g.addrs.Uint64()
	path := fmt.Sprintf("/api/v2/%s/%d", services[p%10], p)
	if p%3 == 0 {
		path = fmt.Sprintf("/static/%s.%06x.js", services[p/3%10], p*2654435761%0xffffff)
	}
	if p%7 == 0 {
		path += fmt.Sprintf("?page=%d&sort=%s", g.r.IntN(40), g.word(3))
	}
	ref := refs[g.r.IntN(len(refs))]
	if len(ref) > 26 {
		ref += fmt.Sprint(g.r.IntN(500))
	}
	ms := int(g.r.ExpFloat64() * 40)
	return hit{
		time: g.tick(), host: fmt.Sprintf("edge-%02d.%s.example.com", a%12, []string{"iad", "fra", "sin"}[a%3]),
		addr:   fmt.Sprintf("%d.%d.%d.%d", 23+a*131%200, a*7%256, a*13/256%256, a%256),
		method: methods[g.r.IntN(len(methods))], path: path,
		status: statuses[g.r.IntN(len(statuses))], bytes: int(g.r.ExpFloat64() * 9000), millis: ms, referer: ref,
		agent: g.agent[g.agents.Uint64()], id: g.hex(32), upstream: fmt.Sprintf("10.42.%d.%d:8080", p%4, 10+p%40),
		upstreamMillis: ms * 9 / 10, country: lands[a%uint64(len(lands))],
	}
}

func (h hit) json(b []byte) []byte {
	return fmt.Appendf(b,
		`{"time":"%s","host":"%s","remote_addr":"%s","method":"%s","path":"%s","protocol":"HTTP/1.1","status":%d,`+
			`"bytes":%d,"request_time":%d.%03d,"referer":"%s","user_agent":"%s","request_id":"%s",`+
			`"upstream":{"addr":"%s","status":%d,"response_time":%d.%03d},"geo":{"country":"%s"}}`,
		h.time.Format("2006-01-02T15:04:05.000Z07:00"), h.host, h.addr, h.method, h.path, h.status, h.bytes,
		h.millis/1000, h.millis%1000, h.referer, h.agent, h.id,
		h.upstream, h.status, h.upstreamMillis/1000, h.upstreamMillis%1000, h.country)
}

func (h hit) combined(b []byte) []byte {
	return fmt.Appendf(b, `%s - - [%s] "%s %s HTTP/1.1" %d %d "%s" "%s"`,
		h.addr, h.time.Format("02/Jan/2006:15:04:05 -0700"), h.method, h.path, h.status, h.bytes, h.referer, h.agent)
}
