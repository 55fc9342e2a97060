package processor

import (
	"github.com/mileusna/useragent"

	"cordwood/router/vrl/value"
)

// compileUserAgent: user_agent parses the User-Agent header of a request.
//
//	properties: list of the properties to store; default all: name and version of the program, os
//	            and os_version, device, type (desktop, mobile, tablet or bot) and url, which
//	            bots give
//
// Each known property goes to <field>_<property>, or to <new name>_<property> if the field list gives a new name.
// An empty text or - gives no properties. The field itself stays.
func compileUserAgent(o *Options) Apply {
	properties := o.properties(userAgentProperties)
	return o.Fields().EachStringWith(func(fl Field) func(*Record, string) error {
		outputs := o.propertyNames(fl, properties)
		return func(rec *Record, s string) error {
			if s == "" || s == "-" {
				return nil
			}
			// Longer user agents contain no further information.
			agent := useragent.Parse(s[:min(len(s), maxUserAgent)])
			for i, p := range properties {
				if text := userAgentProperty(&agent, p); text != "" {
					rec.Set(outputs[i], value.NewString(text))
				}
			}
			return nil
		}
	})
}

const maxUserAgent = 1024

var userAgentProperties = []string{"name", "version", "os", "os_version", "device", "type", "url"}

func userAgentProperty(agent *useragent.UserAgent, property string) string {
	switch property {
	case "name":
		return agent.Name
	case "version":
		return agent.Version
	case "os":
		return agent.OS
	case "os_version":
		return agent.OSVersion
	case "device":
		return agent.Device
	case "url":
		return agent.URL
	}
	switch {
	case agent.Bot:
		return "bot"
	case agent.Tablet:
		return "tablet"
	case agent.Mobile:
		return "mobile"
	case agent.Desktop:
		return "desktop"
	}
	return ""
}
