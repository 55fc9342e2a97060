package web

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// colour is a colour in linear RGB.
type colour [3]float64

// readTokens reads the colours of the style sheet by their names, of the light and of the dark theme.
func readTokens(t *testing.T) map[string][2]colour {
	t.Helper()
	text, err := os.ReadFile("app/style/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	tokens := map[string][2]colour{}
	for _, m := range regexp.MustCompile(`--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)`).
		FindAllStringSubmatch(string(text), -1) {
		tokens[m[1]] = [2]colour{parseColour(t, m[2]), parseColour(t, m[3])}
	}
	if len(tokens) < 30 {
		t.Fatalf("only %d colours are read", len(tokens))
	}
	return tokens
}

func parseColour(t *testing.T, hex string) (c colour) {
	t.Helper()
	for i := range c {
		n, err := strconv.ParseUint(hex[1+2*i:3+2*i], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		v := float64(n) / 255
		if v <= 0.04045 {
			c[i] = v / 12.92
		} else {
			c[i] = math.Pow((v+0.055)/1.055, 2.4)
		}
	}
	return c
}

func (c colour) luminance() float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }

// contrast is the ratio of WCAG.
func contrast(a, b colour) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

var themes = [2]string{"light", "dark"}

// TestContrast computes from the style sheet that every text can be read on every ground that it stands on.
func TestContrast(t *testing.T) {
	tokens := readTokens(t)
	check := func(least float64, texts, grounds []string) {
		for _, text := range texts {
			for _, ground := range grounds {
				a, okA := tokens[text]
				b, okB := tokens[ground]
				if !okA || !okB {
					t.Fatalf("there is no colour %s or %s", text, ground)
				}
				for i, theme := range themes {
					if ratio := contrast(a[i], b[i]); ratio < least {
						t.Errorf("%s: %s on %s has %.2f, and needs %.1f", theme, text, ground, ratio, least)
					}
				}
			}
		}
	}
	texts := []string{
		"ink", "ink-2", "ink-3", "accent", "number", "string", "fatal", "error", "warn", "info", "debug",
	}
	check(4.5, texts, []string{
		"ground", "surface", "hover", "sunken", "accent-soft", "error-soft", "added", "changed", "removed",
	})
	check(4.5, []string{"ink"}, []string{"mark"})
	check(4.5, []string{"ink-2"}, []string{"fill"})
	check(4.5, []string{"on-accent"}, []string{"accent"})
	check(4.5, []string{"surface"}, []string{"fatal", "error"})
	check(3, []string{"edge"}, []string{"surface", "ground"})
	// Bars: those of rows without a level are quiet, and are seen.
	check(2.5, []string{"bar-none"}, []string{"surface", "ground"})
	check(1.7, []string{"bar-fatal", "bar-error", "bar-warn", "bar-info"}, []string{"surface", "ground"})
}

// sights are what reaches eyes that lack a kind of cones, as matrices over linear RGB (Machado, Oliveira, Fernandes,
// 2009).
var sights = map[string][3]colour{
	"normal": {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protan": {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deutan": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritan": {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

func (c colour) seenBy(sight [3]colour) (seen colour) {
	for i, row := range sight {
		seen[i] = min(1, max(0, row[0]*c[0]+row[1]*c[1]+row[2]*c[2]))
	}
	return seen
}

// oklab is the colour where distances are as eyes see them.
func (c colour) oklab() colour {
	l := math.Cbrt(0.4122214708*c[0] + 0.5363325363*c[1] + 0.0514459929*c[2])
	m := math.Cbrt(0.2119034982*c[0] + 0.6806995451*c[1] + 0.1073969566*c[2])
	s := math.Cbrt(0.0883024619*c[0] + 0.2817188376*c[1] + 0.6299787005*c[2])
	return colour{
		0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s,
	}
}

// leastDistance is how far two bars must be apart, in OKLab times 100.
const leastDistance = 9.5

// TestBarsDiffer computes that the bars of any two levels can be told apart, also by those who do not see all colours.
func TestBarsDiffer(t *testing.T) {
	tokens := readTokens(t)
	bars := []string{"bar-fatal", "bar-error", "bar-warn", "bar-info", "bar-debug", "bar-none"}
	for name, sight := range sights {
		for i, theme := range themes {
			least := math.Inf(1)
			for _, a := range bars {
				for _, b := range bars[slices.Index(bars, a)+1:] {
					x, y := tokens[a][i].seenBy(sight).oklab(), tokens[b][i].seenBy(sight).oklab()
					d := 100 * math.Sqrt((x[0]-y[0])*(x[0]-y[0])+(x[1]-y[1])*(x[1]-y[1])+(x[2]-y[2])*(x[2]-y[2]))
					least = min(least, d)
					if d < leastDistance {
						t.Errorf("%s, %s sight: %s and %s are %.1f apart", theme, name, a, b, d)
					}
				}
			}
			t.Logf("%s, %s sight: at least %.1f apart", theme, name, least)
		}
	}
}
