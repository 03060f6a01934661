package chart

import (
	_ "embed"
	"strings"
)

//go:embed embed.css
var css string

var embedStyle = strings.ReplaceAll(css, "\n", "")
