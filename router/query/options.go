package query

import (
	"strings"

	"cordwood/proto/errs"
	"cordwood/proto/schema"
	"cordwood/router/query/statement"
)

// optionMap returns options by name. Their values are checked later.
func optionMap(list []statement.Option) (map[string]string, error) {
	options := make(map[string]string, len(list))
	for _, o := range list {
		key := optionKey(o.Key)
		if _, twice := options[key]; twice {
			return nil, errs.New(errs.InvalidArguments, "option %s is given twice", key)
		}
		options[key] = o.Value
	}
	return options, nil
}

// optionKey returns the canonical name of an option, or key itself if there is no such option.
func optionKey(key string) string {
	if name, ok := schema.OptionName(strings.ToLower(key)); ok {
		return name
	}
	return key
}
