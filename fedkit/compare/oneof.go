package compare

import (
	"fmt"
	"strings"
)

// oneOf lists the first twenty allowed names.
func oneOf(names []string) string {
	const most = 20
	quoted := each(names[:min(len(names), most)], func(s string) string { return fmt.Sprintf("%q", s) })
	if n := len(names) - most; n > 0 {
		quoted = append(quoted, fmt.Sprintf("… %d more", n))
	}
	return "one of " + strings.Join(quoted, ", ")
}
