// Package parse has the functions that parse known formats: log lines, JSON, XML, URLs, units and times.
package parse

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	parseJSON, parseRegex, parseRegexAll, parseKeyValue, parseLogfmt, parseTokens, parseCSV,
	parseQueryString, parseInt, parseCommonLog, parseApacheLog, parseNginxLog, parseKlog, parseGlog,
	parseSyslog, parseLinuxAuthorization, parseAWSALBLog, parseAWSVPCFlowLog, parseAWSCloudWatch,
	parseCEF, parseDuration, parseBytes, parseTimestamp, parseURL, parseETLD, parseXML, parseYAML,
	parseCBOR, parseInfluxDB, parseRubyHash, parseGrok, parseGroks, parseUserAgent,
}
