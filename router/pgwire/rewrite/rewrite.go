package rewrite

// Result is a statement that was rewritten.
type Result struct{ Text string }

// Rewrite r
func Rewrite(text string) Result { return Result{text} }

// Origin returns o
func (r Result) Origin(at int) int { return at }
