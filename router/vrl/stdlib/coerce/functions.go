// Package coerce has the functions that check and assert kinds of values, and convert values between kinds,
// including times.
package coerce

import "cordwood/router/vrl/fn"

// Functions are the functions of the package.
var Functions = []*fn.Function{
	toBool, toFloat, toInt, toRegex, toString, parseFloat, fromUnixTimestamp, toSyslogFacility,
	toSyslogFacilityCode, toSyslogLevel, toSyslogSeverity, toUnixTimestamp, expectArray, expectBool,
	expectFloat, expectInt, isArray, isBoolean, isEmpty, isFloat, isInteger, isJSON, isNull,
	isNullish, isObject, isRegex, isString, isTimestamp, expectObject, expectString,
	tagTypesExternally, expectTimestamp, typeDef, validateJSONSchema, formatTimestamp, now,
}
