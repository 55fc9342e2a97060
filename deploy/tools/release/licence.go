package main

import (
	"slices"
	"strings"
)

// kinds lists the known licences. A text is of the first kind of which it contains all words, and the
// words of one of the alternatives, if the row has any.
var kinds = []struct {
	spdx  string
	words []string
	anyOf []string
}{
	{spdx: "Apache-2.0", words: []string{"apache license", "version 2.0"}},
	{spdx: "MPL-2.0", words: []string{"mozilla public license", "2.0"}},
	{spdx: "OFL-1.1", words: []string{"sil open font license"}},
	{spdx: "Unicode-DFS-2016", words: []string{"unicode, inc.", "data files"}},
	{spdx: "PostgreSQL", words: []string{"permission to use, copy, modify, and distribute this software and its " +
		"documentation for any purpose, without fee", "postgresql"}},
	{spdx: "BSL-1.0", words: []string{"boost software license"}},
	{
		spdx: "ISC", words: []string{"distribute this software for any purpose"},
		anyOf: []string{
			"permission to use, copy, modify, and/or distribute", "permission to use, copy, modify, and distribute",
		},
	},
	{
		spdx: "BSD-3-Clause", words: []string{"redistribution and use in source and binary forms"},
		anyOf: []string{
			"neither the name", "names of its contributors may", "name of the author may not", "endorse or promote products",
		},
	},
	{spdx: "BSD-2-Clause", words: []string{"redistribution and use in source and binary forms"}},
	{spdx: "MIT", words: []string{
		"permission is hereby granted, free of charge, to any person obtaining", "above copyright notice",
	}},
	{spdx: "MIT-0", words: []string{"permission is hereby granted, free of charge, to any person obtaining"}},
	{spdx: "Unlicense", words: []string{"this is free and unencumbered software released into the public domain"}},
	{spdx: "CC0-1.0", words: []string{"cc0 1.0 universal"}},
	{spdx: "Zlib", words: []string{"this software is provided 'as-is', without any express or implied warranty"}},
}

// kindOf returns the SPDX name of a licence text, or "" if it is unknown.
func kindOf(text []byte) string {
	s := strings.Join(strings.Fields(strings.ToLower(string(text))), " ")
	has := func(words string) bool { return strings.Contains(s, words) }
	lacks := func(words string) bool { return !has(words) }
	for _, k := range kinds {
		if !slices.ContainsFunc(k.words, lacks) && (len(k.anyOf) == 0 || slices.ContainsFunc(k.anyOf, has)) {
			return k.spdx
		}
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
