package statement

import (
	"errors"
	"testing"

	"cordwood/proto/errs"
)

// TestWithoutPosition checks that a position is removed, and nothing else.
func TestWithoutPosition(t *testing.T) {
	for text, want := range map[string]string{
		"there is no column n (position 67)": "there is no column n", "position (position x)": "position (position x)",
		"no position": "no position",
	} {
		err := WithoutPosition(errs.New(errs.ColumnNotFound, "%s", text))
		if got := errs.From(err); got.Msg != want || got.Code != errs.ColumnNotFound {
			t.Errorf("%q becomes %v", text, err)
		}
	}
	plain := errors.New("broken (position 1)")
	if !errors.Is(WithoutPosition(plain), plain) || WithoutPosition(nil) != nil {
		t.Error("another error is changed")
	}
}
