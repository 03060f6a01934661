package config

import (
	"fmt"
	"strconv"
	"strings"
)

// String writes the configuration in one line, much like a Go literal:
//
//	strategy.FedAvg{Fraction: 0.5, Local: {Batch: 16, LR: 0.1}, Aggregator: aggregate.Median{}}
//
// It is "" for nil.
func (c *Config) String() string {
	if c == nil {
		return ""
	}
	return bare(c.value)
}

// bare is the text of a value, without the quotes of a string.
func bare(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return text(v)
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		if v == "NaN" || v == "+Inf" || v == "-Inf" {
			return v
		}
		return strconv.Quote(v)
	case []any:
		all := make([]string, len(v))
		for i, e := range v {
			all[i] = text(e)
		}
		return "[" + strings.Join(all, ", ") + "]"
	case object:
		return v.text()
	}
	return fmt.Sprint(v) // a bool or a number
}

// text writes what an object stands for: a typed value, a function, a long list, or fields.
func (o object) text() string {
	kind := ""
	if len(o) > 0 && o[0].name == "type" {
		kind, o = bare(o[0].value), o[1:]
	}
	if len(o) == 0 || !special[o[0].name] {
		return kind + "{" + o.list() + "}"
	}
	s := bare(o[0].value)
	switch {
	case o[0].name == "value":
		s = text(o[0].value)
	case o[0].name == "len" && len(o) > 1:
		s = fmt.Sprintf("%s elements, SHA-256 %.12s", s, bare(o[1].value))
	}
	if kind == "" {
		return s
	}
	return kind + "(" + s + ")"
}

func (o object) list() string {
	all := make([]string, len(o))
	for i, f := range o {
		name := f.name
		if name == "" || strings.ContainsAny(name, " :,{}[]") {
			name = strconv.Quote(name)
		}
		all[i] = name + ": " + text(f.value)
	}
	return strings.Join(all, ", ")
}
