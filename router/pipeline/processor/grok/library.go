package grok

// Library has the patterns that expressions may use without a definition. Their names, and the fields of those for
// whole lines, are the usual ones. It must not be changed.
var Library = map[string]string{
	// Words and numbers.
	"WORD":         `\b\w+\b`,
	"NOTSPACE":     `\S+`,
	"SPACE":        `\s*`,
	"DATA":         `.*?`,
	"GREEDYDATA":   `.*`,
	"QUOTEDSTRING": "\"[^\"\\\\]*(?:\\\\.[^\"\\\\]*)*\"|'[^'\\\\]*(?:\\\\.[^'\\\\]*)*'|`[^`\\\\]*(?:\\\\.[^`\\\\]*)*`",
	"QS":           `%{QUOTEDSTRING}`,
	"INT":          `[+-]?[0-9]+`,
	"BASE10NUM":    `[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)`,
	"NUMBER":       `%{BASE10NUM}`,
	"BASE16NUM":    `[+-]?(?:0[xX])?[0-9A-Fa-f]+`,
	"BASE16FLOAT":  `[+-]?(?:0[xX])?(?:[0-9A-Fa-f]+(?:\.[0-9A-Fa-f]*)?|\.[0-9A-Fa-f]+)\b`,
	"POSINT":       `\b[1-9][0-9]*\b`,
	"NONNEGINT":    `\b[0-9]+\b`,
	"UUID":         `[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}`,
	"URN":          `urn:[0-9A-Za-z][0-9A-Za-z-]{0,31}:(?:%[0-9A-Fa-f]{2}|[0-9A-Za-z()+,.:=@;$_!*'/?#-])+`,

	// People.
	"USERNAME":       `[\w.-]+`,
	"USER":           `%{USERNAME}`,
	"EMAILLOCALPART": "[\\w!#$%&'*+/=?^`{|}~-]+(?:\\.[\\w!#$%&'*+/=?^`{|}~-]+)*",
	"EMAILADDRESS":   `%{EMAILLOCALPART}@%{HOSTNAME}`,
	"HTTPDUSER":      `%{EMAILADDRESS}|%{USER}`,

	// Networks.
	"CISCOMAC":   `(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}`,
	"WINDOWSMAC": `(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2}`,
	"COMMONMAC":  `(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}`,
	"MAC":        `%{CISCOMAC}|%{WINDOWSMAC}|%{COMMONMAC}`,
	"IPV4":       `\b(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})\.){3}(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})\b`,
	// The number of digits is not limited, because a small pattern is matched much faster.
	"IPV6": `(?:(?:[0-9A-Fa-f]+:){6}(?:[0-9]+(?:\.[0-9]+){3}|[0-9A-Fa-f]+:[0-9A-Fa-f]+)` +
		`|(?:[0-9A-Fa-f]+(?::[0-9A-Fa-f]+)*)?::(?:(?:[0-9A-Fa-f]+:)*(?:[0-9]+(?:\.[0-9]+){3}|` +
		`[0-9A-Fa-f]+))?)(?:%[0-9A-Za-z]+)?`,
	"IP":       `%{IPV6}|%{IPV4}`,
	"HOSTNAME": `\b[0-9A-Za-z][0-9A-Za-z_-]*(?:\.[0-9A-Za-z][0-9A-Za-z_-]*)*\.?`,
	"HOST":     `%{HOSTNAME}`,
	"IPORHOST": `%{IP}|%{HOSTNAME}`,
	"HOSTPORT": `%{IPORHOST}:%{POSINT}`,

	// Paths and URLs.
	"UNIXPATH":     `(?:/[\w%!$@:.,+~-]*)+`,
	"WINPATH":      `(?:[A-Za-z]+:|\\)(?:\\[^\\?*]*)+`,
	"PATH":         `%{UNIXPATH}|%{WINPATH}`,
	"TTY":          `/dev/(?:pts|tty[pq]?)\w*/?[0-9]*`,
	"URIPROTO":     `[A-Za-z][0-9A-Za-z+.-]*`,
	"URIHOST":      `%{IPORHOST}(?::%{POSINT})?`,
	"URIPATH":      `(?:/[\w$.+!*'(){},~:;=@#%&-]*)+`,
	"URIQUERY":     `[\w$.+!*'|(){},~@#%&/=:;?<>\[\]^-]*`,
	"URIPARAM":     `\?%{URIQUERY}`,
	"URIPATHPARAM": `%{URIPATH}(?:\?%{URIQUERY})?`,
	"URI":          `%{URIPROTO}://(?:%{USER}(?::[^@]*)?@)?(?:%{URIHOST})?(?:%{URIPATH}(?:\?%{URIQUERY})?)?`,

	// Dates and times.
	"MONTH": `\b(?:[Jj](?:an(?:uary)?|une?|uly?)|[Ff]eb(?:ruary)?|[Mm](?:a(?:y|i|r(?:ch)?)|ärz)|[Aa](?:pr(?:il)?|` +
		`ug(?:ust)?)` +
		`|[Ss]ept?(?:ember)?|[Oo][ck]t(?:ober)?|[Nn]ov(?:ember)?|[Dd]e[cz](?:ember)?)\b`,
	"MONTHNUM":  `1[0-2]|0?[1-9]`,
	"MONTHNUM2": `0[1-9]|1[0-2]`,
	"MONTHDAY":  `0[1-9]|[12][0-9]|3[01]|[1-9]`,
	"DAY": `\b(?:Mon(?:day)?|Tue(?:sday)?|Wed(?:nesday)?|Thu(?:rsday)?|Fri(?:day)?|Sat(?:urday)?|` +
		`Sun(?:day)?)\b`,
	"YEAR":             `(?:[0-9]{2}){1,2}`,
	"HOUR":             `2[0-3]|[01]?[0-9]`,
	"MINUTE":           `[0-5][0-9]`,
	"SECOND":           `(?:60|[0-5]?[0-9])(?:[:.,][0-9]+)?`,
	"TIME":             `%{HOUR}:%{MINUTE}:%{SECOND}`,
	"DATE_US":          `%{MONTHNUM}[/-]%{MONTHDAY}[/-]%{YEAR}`,
	"DATE_EU":          `%{MONTHDAY}[./-]%{MONTHNUM}[./-]%{YEAR}`,
	"DATE":             `%{DATE_US}|%{DATE_EU}`,
	"DATESTAMP":        `%{DATE}[- ]%{TIME}`,
	"ISO8601_TIMEZONE": `Z|[+-]%{HOUR}(?::?%{MINUTE})?`,
	"ISO8601_SECOND":   `%{SECOND}`,
	"TIMESTAMP_ISO8601": `%{YEAR}-%{MONTHNUM}-%{MONTHDAY}[T ]%{HOUR}` +
		`:?%{MINUTE}(?::?%{SECOND})?(?:%{ISO8601_TIMEZONE})?`,
	"TZ":                 `[A-Z]{3,4}`,
	"DATESTAMP_RFC822":   `%{DAY} %{MONTH} %{MONTHDAY} %{YEAR} %{TIME} %{TZ}`,
	"DATESTAMP_RFC2822":  `%{DAY}, %{MONTHDAY} %{MONTH} %{YEAR} %{TIME} %{ISO8601_TIMEZONE}`,
	"DATESTAMP_OTHER":    `%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{TZ} %{YEAR}`,
	"DATESTAMP_EVENTLOG": `%{YEAR}%{MONTHNUM2}%{MONTHDAY}%{HOUR}%{MINUTE}%{SECOND}`,
	"HTTPDATE":           `%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} %{INT}`,
	"HTTPDERROR_DATE":    `%{DAY} %{MONTH} %{MONTHDAY} %{TIME} %{YEAR}`,
	"SYSLOGTIMESTAMP":    `%{MONTH} +%{MONTHDAY} %{TIME}`,
	"REDISTIMESTAMP":     `%{MONTHDAY} %{MONTH} %{TIME}`,
	"TOMCAT_DATESTAMP":   `%{YEAR}-%{MONTHNUM}-%{MONTHDAY} %{TIME} %{ISO8601_TIMEZONE}`,
	"CATALINA_DATESTAMP": `%{MONTH} %{MONTHDAY}, %{YEAR} %{TIME} [AP]M`,
	"HAPROXYTIME":        `%{HOUR}:%{MINUTE}(?::%{SECOND})?`,
	"HAPROXYDATE":        `%{MONTHDAY}/%{MONTH}/%{YEAR}:%{HAPROXYTIME}\.%{INT}`,
	"LOGLEVEL": `(?i:alert|trace|debug|notice|info(?:rmation)?|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|` +
		`severe|emerg(?:ency)?|panic)`,
	"PROG":           `[!-Z\\^-~]+`,
	"SYSLOGPROG":     `%{PROG:program}(?:\[%{POSINT:pid}\])?`,
	"SYSLOGHOST":     `%{IPORHOST}`,
	"SYSLOGFACILITY": `<%{NONNEGINT:facility}\.%{NONNEGINT:priority}>`,
	"SYSLOGBASE":     `%{SYSLOGTIMESTAMP:timestamp} (?:%{SYSLOGFACILITY} )?%{SYSLOGHOST:logsource} %{SYSLOGPROG}:`,
	"SYSLOGBASE2": `(?:%{SYSLOGTIMESTAMP:timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) (?:%{SYSLOGFACILITY} ` +
		`)?%{SYSLOGHOST:logsource}(?: %{SYSLOGPROG}:)?`,
	"SYSLOGLINE": `%{SYSLOGBASE2} %{GREEDYDATA:message}`,
	"SYSLOGPAMSESSION": `%{SYSLOGBASE} %{DATA:pam_module}\(%{DATA:pam_caller}\): session %{WORD:pam_session_state} ` +
		`for user %{USERNAME:username}(?: by %{GREEDYDATA:pam_by})?`,
	"CRON_ACTION":          `[A-Z ]+`,
	"CRONLOG":              `%{SYSLOGBASE} \(%{USER:user}\) %{CRON_ACTION:action} \(%{DATA:message}\)`,
	"SYSLOG5424PRINTASCII": `[!-~]+`,
	"SYSLOG5424PRI":        `<%{NONNEGINT:syslog5424_pri}>`,
	"SYSLOG5424SD":         `(?:\[(?:[^\]\\]|\\.)*\])+`,
	"SYSLOG5424BASE": `%{SYSLOG5424PRI}%{NONNEGINT:syslog5424_ver} +(?:-|%{TIMESTAMP_ISO8601:syslog5424_ts}) ` +
		`+(?:-|%{IPORHOST:syslog5424_host})` +
		` +(?:-|%{SYSLOG5424PRINTASCII:syslog5424_app}) +(?:-|%{SYSLOG5424PRINTASCII:syslog5424_proc})` +
		` +(?:-|%{SYSLOG5424PRINTASCII:syslog5424_msgid}) +(?:-|%{SYSLOG5424SD:syslog5424_sd})`,
	"SYSLOG5424LINE": `%{SYSLOG5424BASE}(?: +%{GREEDYDATA:syslog5424_msg})?`,

	// Web servers.
	"COMMONAPACHELOG": `%{IPORHOST:clientip} %{HTTPDUSER:ident} %{HTTPDUSER:auth} \[%{HTTPDATE:timestamp}\]` +
		` "(?:%{WORD:verb} %{NOTSPACE:request}(?: HTTP/%{NUMBER:httpversion})?|%{DATA:rawrequest})" ` +
		`(?:-|%{NUMBER:response}) (?:-|%{NUMBER:bytes})`,
	"COMBINEDAPACHELOG": `%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}`,
	"HTTPD_COMMONLOG":   `%{COMMONAPACHELOG}`,
	"HTTPD_COMBINEDLOG": `%{COMBINEDAPACHELOG}`,
	"HTTPD20_ERRORLOG": `\[%{HTTPDERROR_DATE:timestamp}\] \[%{LOGLEVEL:loglevel}\] (?:\[client %{IPORHOST:clientip}\] ` +
		`)?%{GREEDYDATA:message}`,
	"HTTPD24_ERRORLOG": `\[%{HTTPDERROR_DATE:timestamp}\] \[(?:%{WORD:module})?:%{LOGLEVEL:loglevel}\] \[pid ` +
		`%{POSINT:pid}(?::tid %{NUMBER:tid})?\]` +
		`(?: \(%{POSINT:proxy_errorcode}\)%{DATA:proxy_message}:)?(?: ` +
		`\[client %{IPORHOST:clientip}(?::%{POSINT:clientport})?\])?(?: %{WORD:errorcode}:)? %{GREEDYDATA:message}`,
	"HTTPD_ERRORLOG": `%{HTTPD20_ERRORLOG}|%{HTTPD24_ERRORLOG}`,
	"HAPROXYTCP": `(?:%{SYSLOGTIMESTAMP:syslog_timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) %{IPORHOST:syslog_server} ` +
		`%{SYSLOGPROG}:` +
		` %{IP:client_ip}:%{INT:client_port} \[%{HAPROXYDATE:accept_date}\] %{NOTSPACE:frontend_name} ` +
		`%{NOTSPACE:backend_name}/%{NOTSPACE:server_name}` +
		` %{INT:time_queue}/%{INT:time_backend_connect}/%{NOTSPACE:time_duration} %{NOTSPACE:bytes_read} ` +
		`%{NOTSPACE:termination_state}` +
		` %{INT:actconn}/%{INT:feconn}/%{INT:beconn}/%{INT:srvconn}/%{NOTSPACE:retries} ` +
		`%{INT:srv_queue}/%{INT:backend_queue}`,
	"HAPROXYHTTPBASE": `%{IP:client_ip}:%{INT:client_port} \[%{HAPROXYDATE:accept_date}\] %{NOTSPACE:frontend_name} ` +
		`%{NOTSPACE:backend_name}/%{NOTSPACE:server_name}` +
		` %{INT:time_request}/%{INT:time_queue}/%{INT:time_backend_connect}/%{INT:time_backend_response}` +
		`/%{NOTSPACE:time_duration}` +
		` %{INT:http_status_code} %{NOTSPACE:bytes_read} %{DATA:captured_request_cookie} %{DATA:captured_response_cookie} ` +
		`%{NOTSPACE:termination_state}` +
		` %{INT:actconn}/%{INT:feconn}/%{INT:beconn}/%{INT:srvconn}/%{NOTSPACE:retries} ` +
		`%{INT:srv_queue}/%{INT:backend_queue}` +
		` (?:\{%{DATA:captured_request_headers}\} )?(?:\{%{DATA:captured_response_headers}\} ` +
		`)?"(?:<BADREQ>|%{WORD:http_verb} %{NOTSPACE:http_request}(?: HTTP/%{NUMBER:http_version})?)"?`,
	"HAPROXYHTTP": `(?:%{SYSLOGTIMESTAMP:syslog_timestamp}|%{TIMESTAMP_ISO8601:timestamp8601}) ` +
		`%{IPORHOST:syslog_server} %{SYSLOGPROG}: %{HAPROXYHTTPBASE}`,

	// Programs.
	"JAVACLASS":          `(?:[A-Za-z$_][\w$]*\.)*[A-Za-z$_][\w$]*`,
	"JAVAFILE":           `[\w. -]+`,
	"JAVAMETHOD":         `<(?:cl)?init>|[A-Za-z$_][\w$]*`,
	"JAVASTACKTRACEPART": `\s*at %{JAVACLASS:class}\.%{JAVAMETHOD:method}\(%{JAVAFILE:file}(?::%{NUMBER:line})?\)`,
	"JAVATHREAD":         `[A-Z]{2}-Processor[0-9]+`,
	"JAVALOGMESSAGE":     `.*`,
	"CATALINALOG":        `%{CATALINA_DATESTAMP:timestamp} %{JAVACLASS:class} %{JAVALOGMESSAGE:logmessage}`,
	"TOMCATLOG": `%{TOMCAT_DATESTAMP:timestamp} \| %{LOGLEVEL:level} \| %{JAVACLASS:class} - ` +
		`%{JAVALOGMESSAGE:logmessage}`,
	"REDISLOG":   `\[%{POSINT:pid}\] %{REDISTIMESTAMP:timestamp} \* `,
	"POSTGRESQL": `%{DATESTAMP:timestamp} %{TZ} %{DATA:user_id} %{GREEDYDATA:connection_id} %{POSINT:pid}`,
}
