// Package firehose receives logs that Amazon Data Firehose delivers to an HTTP endpoint, POST /v1/firehose. The
// formats are described at https://docs.aws.amazon.com/firehose/latest/dev/httpdeliveryrequestresponse.html.
//
// A Firehose record contains JSON values or lines of text, plain or compressed with gzip. Data of a CloudWatch Logs
// subscription becomes a row for each event. The id of the request is its key, so a request that is delivered again
// is stored once.
//
// Firehose repeats a request for hours after any answer except 200. So records that can never be stored are kept
// among the rejects.
//
// The package decodes, calls router/ingest, and answers.
package firehose

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cordwood/proto/errs"
	"cordwood/router/httpapi/exchange"
	"cordwood/router/httpapi/params"
	"cordwood/router/ingest"
	"cordwood/router/ingest/httpreceiver"
	"cordwood/router/ingest/jsonwalk"
	"cordwood/router/vrl/jsonscan"
)

// DefaultTable is the table for requests that do not give one.
const DefaultTable = "firehose_logs"

// The headers of Firehose.
const (
	headerID     = "X-Amz-Firehose-Request-Id"
	headerKey    = "X-Amz-Firehose-Access-Key" //nolint:gosec // the name of a header
	headerCommon = "X-Amz-Firehose-Common-Attributes"
)

// Receiver answers the requests of Firehose.
type Receiver struct{ httpreceiver.Receiver }

// New returns a Receiver. d.Defaults is the destination for requests that do not give one.
func New(d httpreceiver.Receiver) *Receiver {
	d.Protocol = ingest.Firehose
	d.Defaults = d.Defaults.Or(httpreceiver.Target{Table: DefaultTable, Pipeline: ingest.IdentityPipeline})
	return &Receiver{d}
}

// Credentials returns the access key of a request: user:password or a token, plain or in base64.
func Credentials(r *http.Request) []params.Credential {
	key := r.Header.Get(headerKey)
	if key == "" {
		return nil
	}
	return []params.Credential{{Text: params.UserOrToken(key)}}
}

// Refuse answers an error. Firehose writes it into its log.
func Refuse(w http.ResponseWriter, r *http.Request, why *exchange.Refusal) {
	status := why.Status
	if why.Passing() {
		status = http.StatusServiceUnavailable
	}
	answer(w, status, r.Header.Get(headerID), why.Text)
}

// answer writes an answer. Firehose accepts only status 200 with the id of the request.
func answer(w http.ResponseWriter, status int, id, why string) {
	out := exchange.AppendJSONString([]byte(`{"requestId":`), id)
	out = strconv.AppendInt(append(out, `,"timestamp":`...), time.Now().UnixMilli(), 10)
	if why != "" {
		out = exchange.AppendJSONString(append(out, `,"errorMessage":`...), why)
	}
	exchange.WriteJSON(w, status, append(out, '}'))
}

// Deliver stores the records in the body of a request.
func (d *Receiver) Deliver(w http.ResponseWriter, r *http.Request) {
	id, err := d.store(r)
	if err != nil {
		exchange.WriteError(w, r, err)
		return
	}
	answer(w, http.StatusOK, id, "")
}

func (d *Receiver) store(r *http.Request) (id string, err error) {
	call, err := d.Begin(r)
	if err != nil {
		return "", err
	}
	defer call.Release()
	common, err := readCommon(r.Header.Get(headerCommon))
	if err != nil {
		return "", err
	}
	target := call.Target(common.target)
	if err := call.Receive(target); err != nil {
		return "", err
	}
	text, err := call.Text()
	if err != nil {
		return "", err
	}
	in := &input{
		common: common.members, eventTime: call.EventTime, arrival: call.X.Start.UnixNano(),
		reserve: call.Inflate, check: call.CheckDecoded,
	}
	if err := in.readBody(text); err != nil {
		return "", call.Refuse(err)
	}
	if id = r.Header.Get(headerID); id == "" {
		id = in.id
	}
	b := call.Batch(target)
	if id != "" && call.Key == "" {
		call.SetKey(b, id)
	}
	if b.OnReject == "" {
		b.OnReject = ingest.StoreRejects // the answer cannot say which records were refused
	}
	b.Tags = map[string]bool{fieldGroup: true, fieldStream: true}
	b.Bytes = int64(len(in.data))
	b.Input = ingest.Records(in.give)
	return id, call.Store(b)[0].Err
}

// common has the attributes that Firehose sends with every request of a stream. The owner of the stream sets them.
type common struct {
	target httpreceiver.Target
	// members are added to every record.
	members []member
}

// member is a member of an object. Its value is JSON.
type member struct {
	name  string
	value []byte
}

// maxCommon limits the number of attributes. Firehose allows 50.
const maxCommon = 64

// readCommon parses the header with the attributes: {"commonAttributes":{"NAME":"text"}}.
func readCommon(header string) (common, error) {
	var c common
	if header == "" {
		return c, nil
	}
	wrong := func(why string) error {
		return errs.New(errs.InvalidArguments, "the header %s cannot be read: %s", headerCommon, why)
	}
	w := jsonwalk.New([]byte(strings.ToValidUTF8(header, "\uFFFD")))
	err := w.Object(func(key []byte) error {
		if string(key) != "commonAttributes" {
			return w.Skip()
		}
		return w.Object(func(key []byte) error {
			name := string(key)
			text, _, err := w.String()
			if err != nil {
				return err
			}
			switch name {
			case "db":
				c.target.Database = string(text)
			case "table":
				c.target.Table = httpreceiver.TableName(string(text))
			case "pipeline":
				c.target.Pipeline = string(text)
			default:
				c.members = append(c.members, member{name, jsonscan.AppendQuotedBytes(nil, text)})
			}
			return nil
		})
	})
	if syntax := (*jsonscan.Error)(nil); errors.As(err, &syntax) {
		return c, wrong(err.Error())
	}
	if err == nil && len(c.members) > maxCommon {
		err = wrong("it has more than " + strconv.Itoa(maxCommon) + " attributes")
	}
	return c, err
}
