package chart

import (
	_ "embed"
	"strings"
)

//go:embed embed.css
var css string

// embedStyle is how JupyterLab styles figures, in place of vega-embed's own style, which knows one theme only and makes
// figures as wide as they like: tooltips and the menu have the theme's colors, and no figure is wider than its cell. A page
// has the style of the first figure that it shows.
var embedStyle = strings.ReplaceAll(css, "\n", "")
