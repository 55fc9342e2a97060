package main

import (
	"slices"
	"strings"
)

// kindOf returns the SPDX name of a licence text, or "" if it is none that is known here. Words
// that only one licence has decide.
func kindOf(text []byte) string {
	s := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	has := func(words string) bool { return strings.Contains(s, words) }
	switch {
	case has("apache license") && has("version 2.0"):
		return "Apache-2.0"
	case has("mozilla public license") && has("2.0"):
		return "MPL-2.0"
	case has("sil open font license"):
		return "OFL-1.1"
	case has("unicode, inc.") && has("data files"):
		return "Unicode-DFS-2016"
	case has("permission to use, copy, modify, and distribute this software and its documentation for any purpose, "+
		"without fee") && has("postgresql"):
		return "PostgreSQL"
	case has("boost software license"):
		return "BSL-1.0"
	case has("permission to use, copy, modify, and/or distribute this software for any purpose"):
		return "ISC"
	case has("redistribution and use in source and binary forms"):
		if has("neither the name") || has("names of its contributors may") || has("name of the author may not") ||
			has("endorse or promote products") {
			return "BSD-3-Clause"
		}
		return "BSD-2-Clause"
	case has("permission is hereby granted, free of charge, to any person obtaining"):
		if has("the above copyright notice and this permission notice") || has("above copyright notice") {
			return "MIT"
		}
		return "MIT-0"
	case has("this is free and unencumbered software released into the public domain"):
		return "Unlicense"
	case has("cc0 1.0 universal"):
		return "CC0-1.0"
	case has("this software is provided 'as-is', without any express or implied warranty"):
		return "Zlib"
	}
	return ""
}

// licences returns the licences of a part, by their SPDX names.
func (p *part) licences() []string {
	var out []string
	for _, t := range p.texts {
		if kind := kindOf(t.data); kind != "" && !slices.Contains(out, kind) {
			out = append(out, kind)
		}
	}
	slices.Sort(out)
	return out
}
