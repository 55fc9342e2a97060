package webtest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"go.yaml.in/yaml/v3"
)

// sent is what a program sends that reads a configuration of the page. The programs are not installed where this test
// runs. Their requests are written after their sources: out_http of Fluent Bit 4 and Fluentd 1.19, the http sink of
// Vector 0.57, logstash-output-http 6, loki.write of Alloy 1.17, Promtail 3, Filebeat 8, and the drivers splunk and
// gelf of Docker 28.
type sent struct {
	sender string
	// send sends a record as the program does that reads the text.
	send func(t *testing.T, text string) error
	mark string
}

// sentAt follows the column of times in SQL that finds a record by its time. The record arrives at another time.
const sentAt = " = '2026-01-05 10:00:00.123'"

var programs = []sent{
	{"fluent-bit", sendFluentBit, "log = 'hello' AND date" + sentAt},
	{"kubernetes", sendFluentBit, "log = 'hello' AND date" + sentAt},
	{"vector", sendVector, "message = 'hello' AND timestamp" + sentAt},
	{"fluentd", sendFluentd, "message = 'hello' AND time" + sentAt},
	{"logstash", sendLogstash, "message = 'hello' AND \"@timestamp\"" + sentAt},
	{"alloy", sendAlloy, "line = 'hello' AND app = 'shop' AND svc_timestamp" + sentAt},
	{"promtail", sendPromtail, "line = 'hello' AND app = 'shop' AND svc_timestamp" + sentAt},
	{"filebeat", sendFilebeat, "message = 'hello' AND svc_timestamp" + sentAt},
	{"docker", sendDocker, `"event.line" = 'hello' AND svc_timestamp` + sentAt},
	{"gelf", sendGELF, "message = 'hello' AND tag = 'shop' AND svc_timestamp" + sentAt},
	{"forward", sendForward, "log = 'hello' AND svc_timestamp" + sentAt},
}

// TestSenders reads the configurations of the page and sends what the programs would send.
func TestSenders(t *testing.T) {
	s, b := openAsShipper(t)
	for _, one := range programs {
		t.Run(one.sender, func(t *testing.T) {
			table := strings.ReplaceAll(one.sender, "-", "_") + ":1"
			b.do(chromedp.Navigate(s.url + "/dashboard/add?db=shop&t=" + table + "&sender=" + one.sender))
			b.until(`document.querySelector('[data-ui=sender-` + one.sender + `]').ariaPressed === 'true' &&
				/CORDWOOD_PASSWORD to/.test(document.querySelector('[data-ui=snippet]').parentElement.textContent)`)
			text, to := eval[string](b, `document.querySelector('[data-ui=snippet]').textContent`), s
			if eval[bool](b, `!!document.querySelector('[data-ui=server-port]')`) {
				text, to = b.startWithPort(t, text)
			}
			to.t = t
			if err := one.send(t, strings.ReplaceAll(text, "${CORDWOOD_PASSWORD}", shipperPassword)); err != nil {
				t.Fatalf("%v, with\n%s", err, text)
			}
			to.awaitRows("SELECT count(*) FROM shop.\"" + table + "\" WHERE " + one.mark)
		})
	}
}

func sendFluentBit(t *testing.T, text string) error {
	out := settingsOf(t, text).at("pipeline", "outputs", 0)
	body := compressed(`{"date":"2026-01-05T10:00:00.123000Z","log":"hello"}` + "\n")
	return post(t, "http://"+out.text("host")+":"+out.text("port")+out.text("uri"), body, map[string]string{
		"Content-Type": "application/x-ndjson", "Content-Encoding": "gzip", "User-Agent": "Fluent-Bit",
		"Authorization": basic(out.text("http_user"), out.text("http_passwd")),
	})
}

func sendVector(t *testing.T, text string) error {
	sink := settingsOf(t, text).at("sinks", "cordwood")
	auth := basic(sink.at("auth").text("user"), sink.at("auth").text("password"))
	if strings.Contains(sink.text("uri"), "%") { // Vector reads it as a part of a time
		return fmt.Errorf("the uri %s has a %%", sink.text("uri"))
	}
	if err := request(t, http.MethodHead, sink.at("healthcheck").text("uri"), "",
		map[string]string{"Authorization": auth}, http.StatusOK); err != nil {
		return err
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		return err
	}
	return post(t, sink.text("uri"), string(w.EncodeAll([]byte(`[{"file":"/var/log/app/a.log","host":"web1",`+
		`"message":"hello","source_type":"file","timestamp":"2026-01-05T10:00:00.123Z"}]`), nil)), map[string]string{
		"Content-Type": "application/json", "Content-Encoding": sink.text("compression"), "Authorization": auth,
	})
}

func sendFluentd(t *testing.T, text string) error {
	text = strings.ReplaceAll(text, `"#{ENV['CORDWOOD_PASSWORD']}"`, shipperPassword)
	return post(t, found(t, text, `endpoint (\S+)`), `{"message":"hello","time":1767607200123}`+"\n", map[string]string{
		"Content-Type":  found(t, text, `content_type (\S+)`),
		"Authorization": basic(found(t, text, `username (\S+)`), found(t, text, `password (\S+)`)),
	})
}

func sendLogstash(t *testing.T, text string) error {
	body := compressed(`[{"message":"hello","@version":"1","event":{"original":"hello"},"host":{"name":"web1"},` +
		`"@timestamp":"2026-01-05T10:00:00.123Z"}]`)
	return post(t, found(t, text, `url => "(.*)"`), body, map[string]string{
		"Content-Type": "application/json", "Content-Encoding": "gzip",
		"Authorization": basic(found(t, text, `user => "(.*)"`), found(t, text, `password => "(.*)"`)),
	})
}

func sendAlloy(t *testing.T, text string) error {
	header := map[string]string{}
	for _, pair := range regexp.MustCompile(`"([\w-]+)" = "([^"]*)"`).FindAllStringSubmatch(
		found(t, text, `headers +=(.*)`), -1) {
		header[pair[1]] = pair[2]
	}
	text = strings.ReplaceAll(text, `sys.env("CORDWOOD_PASSWORD")`, `"`+shipperPassword+`"`)
	header["Authorization"] = basic(found(t, text, `username = "(.*)"`), found(t, text, `password = "(.*)"`))
	return pushLoki(t, found(t, text, `url +=\s+"(.*)"`), header)
}

func sendPromtail(t *testing.T, text string) error {
	client := settingsOf(t, text).at("clients", 0)
	header := client.at("headers").texts()
	header["Authorization"] = basic(client.at("basic_auth").text("username"), client.at("basic_auth").text("password"))
	return pushLoki(t, client.text("url"), header)
}

// pushLoki sends a PushRequest of Loki with one stream of one entry.
func pushLoki(t *testing.T, url string, header map[string]string) error {
	at := append(varint(1<<3, 1767607200), varint(2<<3, 123_000_000)...)
	entry := append(message(1, at), message(2, []byte("hello"))...)
	stream := append(message(1, []byte(`{app="shop"}`)), message(2, entry)...)
	header["Content-Type"] = "application/x-protobuf"
	return request(t, http.MethodPost, url, string(snappy.Encode(nil, message(1, stream))), header, http.StatusNoContent)
}

// message writes a field of a message of protobuf that has bytes, and varint one that has a number.
func message(field uint64, value []byte) []byte {
	return append(varint(field<<3|2, uint64(len(value))), value...)
}

func varint(tag, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, tag), value)
}

func sendFilebeat(t *testing.T, text string) error {
	out := settingsOf(t, text).at("output.elasticsearch")
	url, header := out.at("hosts").text(0), out.at("headers").texts()
	header["Authorization"] = basic(out.text("username"), out.text("password"))
	header["Content-Type"] = "application/x-ndjson"
	for _, path := range []string{"/", "/_license?human=false"} { // before the first batch
		if err := request(t, http.MethodGet, url+path, "", header, http.StatusOK); err != nil {
			return err
		}
	}
	return post(t, url+"/_bulk", `{"create":{"_index":"filebeat-8.17.0"}}`+"\n"+
		`{"@timestamp":"2026-01-05T10:00:00.123Z","message":"hello","log":{"offset":0,"file":{"path":"/var/log/app/a.log"}},`+
		`"input":{"type":"filestream"},"ecs":{"version":"8.0.0"}}`+"\n", header)
}

func sendDocker(t *testing.T, text string) error {
	options := settingsOf(t, text).at("services", "shop", "logging", "options")
	url := options.text("splunk-url")
	if !regexp.MustCompile(`^https?://[^/]+$`).MatchString(url) {
		return fmt.Errorf("the driver refuses the splunk-url %s", url)
	}
	url += "/services/collector/event/1.0"
	header := map[string]string{"Authorization": "Splunk " + options.text("splunk-token")}
	if err := request(t, http.MethodOptions, url, "", nil, http.StatusOK); err != nil { // when the container starts
		return err
	}
	return post(t, url, `{"event":{"line":"hello","source":"stdout","tag":"4bf92f3577b3"},"time":"1767607200.123000",`+
		`"host":"web1","index":"`+options.text("splunk-index")+`"}`, header)
}

func sendGELF(t *testing.T, text string) error {
	options := settingsOf(t, text).at("services", "shop", "logging", "options")
	address, isTCP := strings.CutPrefix(options.text("gelf-address"), "tcp://")
	if !isTCP {
		return fmt.Errorf("the address %s is not one of TCP", options.text("gelf-address"))
	}
	_, err := dialed(address, `{"version":"1.1","host":"web1","short_message":"hello","timestamp":1767607200.123,`+
		`"level":6,"_tag":"`+options.text("tag")+`","_container_name":"shop"}`+"\x00", 0)
	return err
}

// sendForward sends a chunk in compressed form, and waits for its acknowledgement.
func sendForward(t *testing.T, text string) error {
	out := settingsOf(t, text).at("pipeline", "outputs", 0)
	at := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1767607200), 123_000_000)
	entries := compressed("\x92\xd7\x00" + string(at) + "\x81\xa3log\xa5hello")
	chunk := "\x93\xa3app\xc4" + string([]byte{byte(len(entries))}) + entries +
		"\x83\xa4size\x01\xaacompressed\xa4gzip\xa5chunk\xa3abc"
	answer, err := dialed(out.text("host")+":"+out.text("port"), chunk, len("\x81\xa3ack\xa3abc"))
	if err == nil && answer != "\x81\xa3ack\xa3abc" {
		err = fmt.Errorf("the chunk is answered by %q", answer)
	}
	return err
}

// dialed sends a text to an address, and reads an answer of n bytes.
func dialed(address, text string, n int) (string, error) {
	conn, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, text); err != nil {
		return "", err
	}
	answer := make([]byte, n)
	_, err = io.ReadFull(conn, answer)
	return string(answer), err
}

func post(t *testing.T, url, body string, header map[string]string) error {
	t.Helper()
	return request(t, http.MethodPost, url, body, header, http.StatusOK)
}

// request sends a request and checks the status of its answer.
func request(t *testing.T, method, url, body string, header map[string]string, status int) error {
	t.Helper()
	r, err := http.NewRequest(method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return err
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if answer, _ := io.ReadAll(resp.Body); resp.StatusCode != status {
		return fmt.Errorf("%s %s: %s: %s", method, url, resp.Status, answer)
	}
	return nil
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// found returns what the group of an expression matches.
func found(t *testing.T, text, expression string) string {
	t.Helper()
	match := regexp.MustCompile(expression).FindStringSubmatch(text)
	if match == nil {
		t.Fatalf("nothing matches %s in\n%s", expression, text)
	}
	return match[1]
}

// settings is a part of a configuration in YAML.
type settings struct {
	t     *testing.T
	value any
}

func settingsOf(t *testing.T, text string) settings {
	t.Helper()
	s := settings{t: t}
	if err := yaml.Unmarshal([]byte(text), &s.value); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return s
}

// at returns the part at a path of keys and of places in lists.
func (s settings) at(path ...any) settings {
	s.t.Helper()
	for _, step := range path {
		switch at := step.(type) {
		case string:
			m, _ := s.value.(map[string]any)
			if m[at] == nil {
				s.t.Fatalf("the configuration has no %s in %v", at, s.value)
			}
			s.value = m[at]
		case int:
			list, _ := s.value.([]any)
			if at >= len(list) {
				s.t.Fatalf("the configuration has no part %d in %v", at, s.value)
			}
			s.value = list[at]
		}
	}
	return s
}

func (s settings) text(step any) string {
	s.t.Helper()
	return fmt.Sprint(s.at(step).value)
}

// texts returns a map of texts.
func (s settings) texts() map[string]string {
	s.t.Helper()
	m, isMap := s.value.(map[string]any)
	if !isMap {
		s.t.Fatalf("%v is no map", s.value)
	}
	texts := map[string]string{}
	for key, value := range m {
		texts[key] = fmt.Sprint(value)
	}
	return texts
}

// TestSenderKeys moves through the list of senders with the keyboard: one stop of Tab, arrows within.
func TestSenderKeys(t *testing.T) {
	s := start(t)
	b := open(t, s.url+"/dashboard/add")
	b.until(`document.querySelectorAll('.senders button[tabindex="0"]').length === 1`)
	eval[bool](b, `(document.querySelector('[data-ui=sender-curl]').focus(), true)`)
	b.keys(kb.ArrowRight + kb.ArrowDown)
	b.until(`document.activeElement === document.querySelectorAll('.senders button')[2]`)
	b.keys(kb.End + kb.ArrowLeft)
	b.until(`document.activeElement === [...document.querySelectorAll('.senders button')].at(-2)`)
	b.keys(kb.Home + kb.ArrowRight + kb.Enter)
	b.until(`document.querySelectorAll('.senders button')[1].ariaPressed === 'true' &&
		document.activeElement === document.querySelector('.senders button[tabindex="0"]')`)
}

// TestRowsBefore opens Add data for a table whose rows are older than what the page waits for: it says that they are
// there, and leads to them.
func TestRowsBefore(t *testing.T) {
	s := start(t)
	rows := logs(2)
	for _, row := range rows {
		row["ts"] = time.Now().Add(-time.Hour).UnixMilli()
	}
	s.ingest("app", rows...)
	b := open(t, s.url+"/dashboard/add?t=app")
	b.until(`document.querySelector('[data-ui=rows-before]').textContent.includes('2 rows from before')`)
	b.click(`[data-ui=rows-before] a`)
	b.until(`location.pathname === '/dashboard/explore' && location.search.includes('t=app')`)
}
