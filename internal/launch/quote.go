package launch

import (
	"strings"

	"github.com/mcpstrata/mcpstrata/internal/canon"
	"github.com/mcpstrata/mcpstrata/internal/contract"
	"github.com/mcpstrata/mcpstrata/internal/record"
)

// quotesReader reports whether a definition holds the home of the process or one
// of its placeholder values, in a string or a member's name, at any depth, as
// decoded (seeds: capture-conditions, rule 4). Bodies that hold no contract quote
// nothing; that they are none is said elsewhere.
func quotesReader(pages [][]byte, launch *record.Launch) bool {
	needles := []string{launch.Home}
	for _, n := range launch.EnvNames {
		needles = append(needles, placeholder(n))
	}
	c, err := contract.Read(pages)
	if err != nil {
		return false
	}
	for _, v := range c.Elems {
		if quotes(v, needles) {
			return true
		}
	}
	return false
}

// quotes reports whether v holds one of the needles. Package canon bounds its
// depth.
func quotes(v *canon.Value, needles []string) bool {
	switch v.Kind {
	case canon.String:
		return holds(v.Text, needles)
	case canon.Array:
		for _, e := range v.Elems {
			if quotes(e, needles) {
				return true
			}
		}
	case canon.Object:
		for _, m := range v.Members {
			if holds(m.Name, needles) || quotes(m.Value, needles) {
				return true
			}
		}
	}
	return false
}

func holds(s string, needles []string) bool {
	for _, n := range needles {
		if n != "" && strings.Contains(s, n) {
			return true
		}
	}
	return false
}
