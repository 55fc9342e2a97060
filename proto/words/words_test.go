package words

import "testing"

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"0 rows": Count(0, "row"), "1 row": Count(int64(1), "row"), "2 batches": Count(uint64(2), "batch"),
		"3 entries": Count(3, "entry"),
		"1 batch":   Count(1, "batch"), "2 keys": Count(2, "key"), "1 key": Count(1, "key"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if one, two := Say(1, "row is", "rows are"), Say(0, "row is", "rows are"); one != "1 row is" || two != "0 rows are" {
		t.Errorf("%s, %s", one, two)
	}
	if one, two := Pick(1, "is", "are"), Pick(int64(2), "is", "are"); one != "is" || two != "are" {
		t.Errorf("1 %s, 2 %s", one, two)
	}
}

func TestASCII(t *testing.T) {
	const text, want = "beyond ±2^53: ALTER TABLE … → “n” ≥ 1 – or ünï",
		`beyond +/-2^53: ALTER TABLE ... -> "n" >= 1 - or ünï`
	if got := ASCII(text); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
