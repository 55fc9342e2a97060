package value

import "cordwood/router/vrl/jsonscan"

// Underflows is jsonscan.Underflows.
func Underflows[T string | []byte](text T) bool { return jsonscan.Underflows(text) }
