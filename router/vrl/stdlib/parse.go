package stdlib

import "cordwood/router/vrl/fn"

// parseFunctions are the functions of the group Parse. Each is in a file of its own.
var parseFunctions = []*fn.Function{
	parseJSON, parseRegex, parseRegexAll, parseKeyValue, parseLogfmt, parseTokens, parseCSV,
	parseQueryString, parseInt, parseCommonLog, parseApacheLog, parseNginxLog, parseKlog, parseGlog,
	parseSyslog, parseLinuxAuthorization, parseAWSALBLog, parseAWSVPCFlowLog, parseAWSCloudWatch,
	parseCEF, parseDuration, parseBytes, parseTimestamp, parseURL, parseETLD, parseXML, parseYAML,
	parseCBOR, parseInfluxDB, parseRubyHash, parseGrok, parseGroks, parseProto,
	parseUserAgent,
}
