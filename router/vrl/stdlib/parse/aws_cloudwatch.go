package parse

import (
	"math"

	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

var parseAWSCloudWatch = &fn.Function{
	Name:  "parse_aws_cloudwatch_log_subscription_message",
	Group: fn.Parse,
	Doc: "Parses a message that AWS CloudWatch Logs sends to a subscription: JSON with the origin of the " +
		"events, and the events.",
	Params: []fn.Param{
		fn.ValueParam("The message."),
	},
	Returns: kind.ObjectOf(
		kind.Field{Name: "owner", Kind: kind.String}, kind.Field{Name: "message_type", Kind: kind.String},
		kind.Field{Name: "log_group", Kind: kind.String}, kind.Field{Name: "log_stream", Kind: kind.String},
		kind.Field{Name: "subscription_filters", Kind: kind.ArrayAll(kind.String)},
		kind.Field{Name: "log_events", Kind: kind.ArrayAll(kind.ObjectOf(
			kind.Field{Name: "id", Kind: kind.String}, kind.Field{Name: "timestamp", Kind: kind.Timestamp},
			kind.Field{Name: "message", Kind: kind.String}))},
	),
	Fallible: true,
	Errors:   []string{"the text is not JSON", "a field is missing or of another kind"},
	Examples: []fn.Example{
		{
			Title: "a message",
			Source: `parse_aws_cloudwatch_log_subscription_message!(s'{"owner":"1","messageType":"DATA_MESSAGE",` +
				`"logGroup":"g","logStream":"s","subscriptionFilters":["f"],"logEvents":[{"id":"7","timestamp":1600110569039,` +
				`"message":"hi"}]}')`,
			Result: `{"log_events":[{"id":"7","message":"hi","timestamp":"2020-09-14T19:09:29.039Z"}],"log_group":"g",` +
				`"log_stream":"s","message_type":"DATA_MESSAGE","owner":"1","subscription_filters":["f"]}`,
		},
		{Title: "no object", Source: `parse_aws_cloudwatch_log_subscription_message!("[]")`, Fails: `unable to parse`},
	},
	Impl: fn.Impl{F1: func(f *fn.Frame, v value.Value) (value.Value, bool) {
		s := v.Text()
		if !f.Reserve(2 * len(s)) {
			return value.Value{}, false
		}
		in, err := value.ParseJSON(s, value.JSONOptions{})
		if err != nil {
			return f.FailErr("unable to parse: ", err)
		}
		out, at := cloudWatch(in)
		if at != "" {
			return f.Fail("unable to parse: " + at)
		}
		return out, true
	}},
}

// cloudWatch returns the object for a message. The second result describes a fault.
func cloudWatch(in value.Value) (value.Value, string) {
	o := in.Object()
	if o == nil {
		return in, "the message is not an object"
	}
	b := newFields(6)
	for _, m := range [...][2]string{
		{"logGroup", "log_group"}, {"logStream", "log_stream"}, {"messageType", "message_type"}, {"owner", "owner"},
	} {
		x, ok := o.PeekGet(m[0])
		if !ok || !x.IsString() {
			return in, "field " + m[0] + " is missing or not a string"
		}
		b.add(m[1], x)
	}
	filters, _ := o.Get("subscriptionFilters")
	if filters.Array() == nil {
		return in, "field subscriptionFilters is missing or not an array"
	}
	for _, x := range filters.Array().Peek() {
		if !x.IsString() {
			return in, "an element of subscriptionFilters is not a string"
		}
	}
	b.add("subscription_filters", filters)
	events, _ := o.PeekGet("logEvents")
	if events.Array() == nil {
		return in, "field logEvents is missing or not an array"
	}
	list := make([]value.Value, 0, events.Len())
	for _, e := range events.Array().Peek() {
		event, fault := cloudWatchEvent(e)
		if fault != "" {
			return in, fault
		}
		list = append(list, event)
	}
	b.add("log_events", value.NewArray(list))
	return b.value(), ""
}

// cloudWatchEvent returns the object for an element of logEvents. The second result describes a fault.
func cloudWatchEvent(in value.Value) (value.Value, string) {
	o := in.Object()
	if o == nil {
		return in, "an element of logEvents is not an object"
	}
	id, _ := o.PeekGet("id")
	message, _ := o.PeekGet("message")
	ms, ok := o.PeekGet("timestamp")
	if !id.IsString() || !message.IsString() || !ok || ms.Kind() != value.Int || ms.Int() > math.MaxInt64/1_000_000 ||
		ms.Int() < math.MinInt64/1_000_000 {
		return in, "an element of logEvents has no id, message or timestamp, or one of another kind"
	}
	b := newFields(3)
	b.add("id", id)
	b.add("message", message)
	b.add("timestamp", value.NewUnixNano(ms.Int()*1e6))
	return b.value(), ""
}
