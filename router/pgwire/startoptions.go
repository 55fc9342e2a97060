package pgwire

import "strings"

// startOptions parses -c name=value and --name=value. A backslash escapes a space.
func startOptions(text string) (map[string]string, error) {
	out := map[string]string{}
	words := optionWords(text)
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "-c" && i+1 < len(words):
			i++
			word = words[i]
		case strings.HasPrefix(word, "-c"):
			word = word[2:]
		case strings.HasPrefix(word, "--"):
			word = word[2:]
		default:
			return nil, fatal("42601", "invalid command-line argument for server process: %s", excerpt(word)).
				withHint("write -c name=value")
		}
		name, val, found := strings.Cut(word, "=")
		if !found {
			return nil, fatal("42601", "-c %s requires a value", excerpt(name))
		}
		out[strings.ReplaceAll(name, "-", "_")] = val
	}
	return out, nil
}

// optionWords splits a text at spaces without a backslash before them.
func optionWords(text string) (words []string) {
	var word strings.Builder
	inside := false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '\\' && i+1 < len(text):
			i++
			word.WriteByte(text[i])
			inside = true
		case b == ' ' || b == '\t' || b == '\n':
			if inside {
				words = append(words, word.String())
			}
			word.Reset()
			inside = false
		default:
			word.WriteByte(b)
			inside = true
		}
	}
	if inside {
		words = append(words, word.String())
	}
	return words
}
