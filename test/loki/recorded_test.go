package loki

// request is a request of Grafana, with a part of the expected response.
type request struct{ path, params, want string }

// builder are the queries that Explore's query builder suggests, with its defaults for the places to fill in.
var builder = []request{
	{
		"query_range", "query=sum(sum_over_time({app=`api`} |= `` | logfmt | __error__=`` | unwrap duration(took) " +
			"| __error__=`` [10s]))&start=START&end=END&step=10000ms", `{"metric":{},"values":[[`,
	},
	{
		"query_range", "query=sum(quantile_over_time(0.5, {app=`api`} | logfmt | __error__=`` | unwrap duration(took) " +
			"| __error__=`` [10s]))&start=START&end=END&step=10000ms", `{"metric":{},"values":[[`,
	},
	{
		"query_range", "query=sum(count_over_time({app=`api`} |= `` | logfmt | __error__=`` [10s]))&start=START&end=END" +
			"&step=10000ms", `{"metric":{},"values":[[`,
	},
	{
		"query_range", "query=bytes_over_time({app=`api`} |= `` [10s])&start=START&end=END&step=10000ms",
		`{"metric":{"app":"api","service_name":"api","table":"loki_logs"},"values":[[`,
	},
	{
		"query_range", "query=topk(10, sum(count_over_time({app=`api`} | logfmt | __error__=`` [10s])))&start=START" +
			"&end=END&step=10000ms", `{"metric":{},"values":[[`,
	},
	{
		"query_range", "query=rate({app=`api`} | logfmt | __error__=`` [10s])&start=START&end=END&step=10000ms",
		`{"metric":{"app":"api","level":"info","service_name":"api","table":"loki_logs","took":"1ms","user":"u200"},`,
	},
	{
		"query_range", "query=max_over_time({app=`api`} | logfmt | unwrap duration(took) | __error__=`` [10s])" +
			"&start=START&end=END&step=10000ms",
		`{"metric":{"app":"api","level":"info","service_name":"api","table":"loki_logs","user":"u200"},"values":[[`,
	},
	{
		"query_range", "query={app=`web`} |= `` | json | __error__=`` | line_format `{{.msg}}` | json | __error__=``" +
			"&start=START&end=END&limit=10", `"result":[]`,
	},
	{
		"query_range", "query={app=`web`} |= `` | json | __error__=`` | label_format lvl=level&start=START&end=END&limit=1",
		`"lvl":"`,
	},
}

// traces are the queries for the logs of a span, by which the data source of traces leads to Loki.
var traces = []request{
	{
		"query_range", "direction=backward&limit=1000&query={service_name=\"api\"} | label_format " +
			"log_line_contains_trace_id=`{{ contains \"user=u404\" __line__  }}` | log_line_contains_trace_id=\"true\" OR " +
			"trace_id=\"user=u404\"&start=START&end=END", `"parsed":{"log_line_contains_trace_id":"true"}`,
	},
	{
		"query_range", "direction=backward&limit=1000&query={service_name=\"api\"} | label_format " +
			"log_line_contains_trace_id=`{{ contains \"nothing\" __line__  }}` | log_line_contains_trace_id=\"true\" or " +
			"trace_id=\"nothing\" | label_format log_line_contains_span_id=`{{ contains \"u200\" __line__  }}` " +
			"| log_line_contains_span_id=\"true\" or span_id=\"u200\"&start=START&end=END", `"result":[]`,
	},
	{
		"query_range", "query=sum by (level, detected_level) (count_over_time({service_name=\"api\"} | label_format " +
			"log_line_contains_trace_id=`{{ contains \"u404\" __line__  }}` | log_line_contains_trace_id=\"true\" OR " +
			"trace_id=\"u404\" | drop __error__ [10s]))&start=START&end=END&step=10000ms",
		`{"metric":{"detected_level":"info"},"values":[[`,
	},
}

// drilldown are queries of Logs Drilldown in forms that its pages make.
var drilldown = []request{
	{
		"query_range", "query={service_name=\"api\"} !> \"\" |> \"<_>took=<_>\" or \"<_>x=<_>\" | json | logfmt " +
			"| drop __error__, __error_details__&start=START&end=END&limit=10", `"took":"`,
	},
	{
		"query_range", "query=sum(count_over_time({service_name=\"web\"}    | json | drop __error__, __error_details__   " +
			"| line_format \"{{.msg}}\" [10s])) by (detected_level)&start=START&end=END&step=10000ms",
		`{"metric":{"detected_level":"error"},`,
	},
	{"query", "query=count_over_time(({service_name=\"web\"} |= \"level\")[5m])&time=END", `"resultType":"vector"`},
}
