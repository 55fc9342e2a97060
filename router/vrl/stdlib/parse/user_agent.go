package parse

import (
	"strings"

	"cordwood/router/vrl/ascii"
	"cordwood/router/vrl/fn"
	"cordwood/router/vrl/kind"
	"cordwood/router/vrl/value"
)

// maxAgent limits how many bytes of a user agent are parsed.
const maxAgent = 2 << 10

// agent has the parts of a user agent. A part that is not known is "".
type agent struct {
	browser, browserVersion string
	os, osVersion           string
	category                string
	// token is the version in the product's own token. It may differ from browserVersion. The parts of the version come
	// from it.
	token                string
	device, brand, model string
}

// product is a token that identifies a browser. The first token in the list that a user agent contains counts,
// because many browsers also contain the tokens of browsers that they imitate.
type product struct{ token, family string }

var browsers = []product{
	{"Edg/", "Edge"},
	{"Edge/", "Edge"},
	{"EdgA/", "Edge"},
	{"EdgiOS/", "Edge"},
	{"OPR/", "Opera"},
	{"OPT/", "Opera"},
	{"OPiOS/", "Opera"},
	{"Vivaldi/", "Vivaldi"},
	{"YaBrowser/", "Yandex Browser"},
	{"SamsungBrowser/", "SamsungBrowser"},
	{"UCBrowser/", "UCBrowser"},
	{"Sleipnir/", "Sleipnir"},
	{"Line/", "LINE"},
	{"FBAV/", "Facebook"},
	{"Whale/", "Whale"},
	{"DuckDuckGo/", "DuckDuckGo"},
	{"Brave/", "Brave"},
	{"Opera Mini/", "Opera Mini"},
	{"Opera/", "Opera"},
	{"Opera ", "Opera"},
	{"IEMobile/", "Internet Explorer"},
	{"MSIE ", "Internet Explorer"},
	{"Trident/", "Internet Explorer"},
	{"FxiOS/", "Firefox"},
	{"Iceweasel/", "Firefox"},
	{"SeaMonkey/", "SeaMonkey"},
	{"PaleMoon/", "Pale Moon"},
	{"Firefox/", "Firefox"},
	{"CriOS/", "Chrome"},
	{"HeadlessChrome/", "Chrome"},
	{"Chromium/", "Chromium"},
	{"Chrome/", "Chrome"},
	{"Safari/", "Safari"},
	{"Konqueror/", "Konqueror"},
	{"curl/", "curl"},
	{"Wget/", "Wget"},
	{"python-requests/", "Python Requests"},
	{"Go-http-client/", "Go-http-client"},
	{"okhttp/", "okhttp"},
	{"PostmanRuntime/", "PostmanRuntime"},
}

// crawlers are tokens of programs that visit sites automatically.
var crawlers = []product{
	{"Googlebot", "Googlebot"},
	{"bingbot", "bingbot"},
	{"Yahoo! Slurp", "Yahoo! Slurp"},
	{"Baiduspider", "Baiduspider"},
	{"YandexBot", "YandexBot"},
	{"DuckDuckBot", "DuckDuckBot"},
	{"facebookexternalhit", "facebook"},
	{"Twitterbot", "twitter"},
	{"Applebot", "Applebot"},
	{"AhrefsBot", "AhrefsBot"},
	{"SemrushBot", "SemrushBot"},
	{"GPTBot", "GPTBot"},
	{"ClaudeBot", "ClaudeBot"},
	{"PetalBot", "PetalBot"},
	{"MJ12bot", "MJ12bot"},
	{"AdsBot-Google", "AdsBot-Google"},
	{"Bytespider", "Bytespider"},
}

// windowsNames are the names of versions of Windows NT.
var windowsNames = map[string]string{
	"10.0": "Windows 10", "6.3": "Windows 8.1", "6.2": "Windows 8", "6.1": "Windows 7", "6.0": "Windows Vista",
	"5.2": "Windows XP", "5.1": "Windows XP", "5.0": "Windows 2000", "4.0": "Windows NT 4.0",
}

// version returns the version at the start of s: digits, dots, and underscores as dots.
func version(s string) string {
	n := 0
	for n < len(s) && (ascii.IsDigit(s[n]) || s[n] == '.' || s[n] == '_') {
		n++
	}
	return strings.Trim(strings.ReplaceAll(s[:n], "_", "."), ".")
}

// after returns the text after a token in s.
func after(s, token string) (string, bool) {
	_, rest, ok := strings.Cut(s, token)
	return rest, ok
}

// readAgent parses a user agent.
func readAgent(s string) agent {
	var a agent
	if len(s) > maxAgent {
		s = s[:maxAgent]
	}
	a.readSystem(s)
	for _, c := range crawlers {
		if rest, ok := after(s, c.token); ok {
			a.browser, a.category = c.family, "crawler"
			a.browserVersion = version(strings.TrimPrefix(rest, "/"))
			a.token = a.browserVersion
			return a
		}
	}
	for _, p := range browsers {
		rest, ok := after(s, p.token)
		if !ok {
			continue
		}
		a.browser = p.family
		a.token = version(rest)
		a.browserVersion = a.token
		switch p.token {
		case "Trident/":
			if rest, ok := after(s, "rv:"); ok {
				a.token = version(rest)
				a.browserVersion = a.token
			}
		case "Safari/", "Opera/", "Opera Mini/":
			// The version of these browsers is in another token.
			if rest, ok := after(s, "Version/"); ok {
				a.browserVersion = version(rest)
				if p.token != "Opera Mini/" {
					a.token = a.browserVersion
				}
			}
		}
		break
	}
	return a
}

// readSystem finds the operating system and the device.
func (a *agent) readSystem(s string) {
	switch {
	case strings.Contains(s, "Windows Phone"):
		a.os, a.category, a.device = "Windows Phone OS", "smartphone", "Windows Phone"
		rest, _ := after(s, "Windows Phone")
		a.osVersion = version(strings.TrimPrefix(strings.TrimPrefix(rest, " OS"), " "))
	case strings.Contains(s, "Windows NT "):
		rest, _ := after(s, "Windows NT ")
		v := version(rest)
		a.os, a.osVersion, a.category = windowsNames[v], "NT "+v, "pc"
		if a.os == "" {
			a.os = "Windows UNKNOWN Ver"
		}
		a.device = "Other"
	case strings.Contains(s, "Windows"):
		a.os, a.category, a.device = "Windows UNKNOWN Ver", "pc", "Other"
		if rest, ok := after(s, "Windows "); ok {
			if v := version(rest); v == "95" || v == "98" {
				a.os, a.osVersion = "Windows "+v, v
			}
		}
	case strings.Contains(s, "iPhone") || strings.Contains(s, "iPad") || strings.Contains(s, "iPod"):
		a.readApple(s)
	case strings.Contains(s, "Mac OS X"):
		rest, _ := after(s, "Mac OS X ")
		a.os, a.osVersion, a.category = "Mac OSX", version(rest), "pc"
		a.device, a.brand, a.model = "Mac", "Apple", "Mac"
	case strings.Contains(s, "Android"):
		a.readAndroid(s)
	case strings.Contains(s, "CrOS"):
		a.os, a.category, a.device = "ChromeOS", "pc", "Other"
		if rest, ok := after(s, "CrOS "); ok {
			_, rest = ascii.CutWord(rest)
			a.osVersion = version(ascii.SkipSpace(rest))
		}
	case strings.Contains(s, "PlayStation") || strings.Contains(s, "Nintendo") || strings.Contains(s, "Xbox"):
		a.category, a.device = "appliance", "Game console"
	case strings.Contains(s, "BlackBerry") || strings.Contains(s, "BB10"):
		a.os, a.category, a.device, a.brand = "BlackBerry", "smartphone", "BlackBerry", "BlackBerry"
	case strings.Contains(s, "Linux"):
		a.os, a.category, a.device = "Linux", "pc", "Other"
	case strings.Contains(s, "FreeBSD") || strings.Contains(s, "OpenBSD") || strings.Contains(s, "NetBSD"):
		a.os, a.category, a.device = "BSD", "pc", "Other"
	}
}

// readApple parses an iOS device.
func (a *agent) readApple(s string) {
	a.brand, a.category, a.device = "Apple", "smartphone", "iPhone"
	a.os = "iPhone"
	if strings.Contains(s, "iPad") {
		a.os, a.device = "iPad", "iPad"
	} else if strings.Contains(s, "iPod") {
		a.os, a.device = "iPod", "iPod"
	}
	a.model = a.device
	for _, t := range [...]string{"iPhone OS ", "CPU OS ", "iOS "} {
		if rest, ok := after(s, t); ok {
			if a.osVersion = version(rest); a.osVersion != "" {
				return
			}
		}
	}
}

// readAndroid parses an Android device. Its model is before the build.
func (a *agent) readAndroid(s string) {
	rest, _ := after(s, "Android")
	a.os, a.category = "Android", "smartphone"
	a.osVersion = version(strings.TrimLeft(rest, " /"))
	a.device, a.brand = "Generic Smartphone", "Generic"
	inside, _, _ := strings.Cut(rest, ")")
	_, model, ok := strings.Cut(inside, ";")
	if !ok {
		return
	}
	if _, m, more := strings.Cut(model, ";"); more && len(strings.TrimSpace(model)) >= 5 &&
		strings.IndexByte(strings.TrimSpace(model)[:5], '-') == 2 {
		model = m // a language was before it
	}
	model, _, _ = strings.Cut(model, " Build/")
	if model = strings.TrimSpace(model); model == "" || len(model) > 64 || model == "Mobile" || model == "K" {
		return
	}
	a.device, a.model = model, model
	for _, b := range [...]product{
		{"SM-", "Samsung"},
		{"GT-", "Samsung"},
		{"SAMSUNG", "Samsung"},
		{"Pixel", "Google"},
		{"Nexus", "Google"},
		{"Mi ", "XiaoMi"},
		{"Redmi", "XiaoMi"},
		{"HUAWEI", "Huawei"},
		{"ONEPLUS", "OnePlus"},
		{"moto", "Motorola"},
		{"LG-", "LG"},
		{"Nokia", "Nokia"},
		{"SO-", "Sony"},
	} {
		if strings.HasPrefix(model, b.token) {
			a.brand = b.family
			return
		}
	}
}

// unknown returns null for an empty text.
func unknown(s string) value.Value {
	if s == "" {
		return value.Value{}
	}
	return value.NewString(s)
}

// object returns the result of parse_user_agent.
func (a *agent) object(enriched bool) value.Value {
	browser, device, system := newFields(5), newFields(4), newFields(6)
	family := a.os
	if enriched && a.brand == "Apple" && a.category == "smartphone" {
		family = "iOS"
	}
	browser.add("family", unknown(a.browser))
	if enriched {
		part := versionParts(a.token)
		browser.add("major", unknown(part[0]))
		browser.add("minor", unknown(part[1]))
		browser.add("patch", unknown(part[2]))
		device.add("brand", unknown(a.brand))
	}
	browser.add("version", unknown(a.browserVersion))
	device.add("category", unknown(a.category))
	if enriched {
		device.add("family", unknown(a.device))
		device.add("model", unknown(a.model))
	}
	system.add("family", unknown(family))
	if enriched {
		part := versionParts(strings.TrimPrefix(a.osVersion, "NT "))
		if strings.HasPrefix(a.os, "Windows") {
			part = versionParts(strings.TrimPrefix(a.os, "Windows "))
		}
		system.add("major", unknown(part[0]))
		system.add("minor", unknown(part[1]))
		system.add("patch", unknown(part[2]))
		system.add("patch_minor", unknown(part[3]))
	}
	system.add("version", unknown(a.osVersion))
	return value.ObjectOf(
		value.Field{Key: "browser", Value: browser.value()},
		value.Field{Key: "device", Value: device.value()},
		value.Field{Key: "os", Value: system.value()},
	)
}

// versionParts returns the parts of a version. Missing parts are "".
func versionParts(s string) (part [4]string) {
	for i := range part {
		part[i], s, _ = strings.Cut(s, ".")
	}
	return part
}

var maybeText = kind.String.OrNull()

func agentKind(names ...string) kind.Kind {
	var list []kind.Field
	for _, n := range names {
		list = append(list, kind.Field{Name: n, Kind: maybeText})
	}
	return kind.ObjectOf(list...)
}

func agentResult(enriched bool) kind.Kind {
	if enriched {
		return kind.ObjectOf(
			kind.Field{Name: "browser", Kind: agentKind("family", "version", "major", "minor", "patch")},
			kind.Field{Name: "device", Kind: agentKind("category", "family", "brand", "model")},
			kind.Field{Name: "os", Kind: agentKind("family", "version", "major", "minor", "patch", "patch_minor")},
		)
	}
	return kind.ObjectOf(
		kind.Field{Name: "browser", Kind: agentKind("family", "version")},
		kind.Field{Name: "device", Kind: agentKind("category")},
		kind.Field{Name: "os", Kind: agentKind("family", "version")},
	)
}

var parseUserAgent = &fn.Function{
	Name:  "parse_user_agent",
	Group: fn.Parse,
	Doc: "Determines the browser, the operating system and the kind of device of a user agent. Unknown fields " +
		"are null. Kinds " +
		"of devices are pc, smartphone, appliance and crawler.",
	Params: []fn.Param{
		fn.ValueParam("The user agent."),
		{
			Name: "mode", Doc: "The amount of detail.", Kind: kind.String, Optional: true, Default: value.NewString("fast"),
			Constant: true,
			Enum: []fn.Enum{
				{Value: "fast", Doc: "families and versions"},
				{Value: "reliable", Doc: "the same, for compatibility"},
				{Value: "enriched", Doc: "also the parts of versions, and the brand and model of the device"},
			},
		},
	},
	Returns: agentResult(true),
	Examples: []fn.Example{
		{
			Title: "a browser", Source: `parse_user_agent("Mozilla/5.0 (Windows NT 10.0; Win64; ` +
				`x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36")`,
			Result: `{"browser":{"family":"Chrome","version":"120.0.0.0"},"device":{"category":"pc"},"os":{"family":"Windows ` +
				`10","version":"NT 10.0"}}`,
		},
		{
			Title: "the device",
			Source: `parse_user_agent("Mozilla/5.0 (Linux; Android 14; SM-S911B) Chrome/120.0.0.0 Mobile Safari/537.36", ` +
				`mode: "enriched").device.brand`,
			Result: `"Samsung"`,
		},
		{Title: "something else", Source: `parse_user_agent("me").browser.family`, Result: `null`},
	},
	Type: func(c *fn.Call) fn.TypeDef {
		mode, ok := c.Const(1)
		switch {
		case !ok:
			return fn.TypeDef{Kind: kind.ObjectAll(kind.ObjectAll(maybeText))}
		case mode.Str() == "enriched":
			return fn.TypeDef{Kind: agentResult(true)}
		}
		return fn.TypeDef{Kind: agentResult(false)}
	},
	Impl: fn.Impl{F2: func(f *fn.Frame, v, mode value.Value) (value.Value, bool) {
		if !f.Reserve(1024) {
			return value.Value{}, false
		}
		a := readAgent(v.Text())
		return a.object(mode.Str() == "enriched"), true
	}},
}
