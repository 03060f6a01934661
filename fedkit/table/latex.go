package table

import "strings"

// LaTeX writes the table as a tabular environment with booktabs rules, and the note under it. The symbols that tables of runs
// have (Greek letters, ±, −, ×, ≤, superscripts) are written in ASCII, so that pdflatex needs \usepackage{booktabs} alone;
// accented letters need LaTeX of 2018 or later. If the table cannot be shown, the result is empty: see Err.
func (t *Table) LaTeX() string {
	if t.Err() != nil {
		return ""
	}
	text := "\\begin{tabular}{" + t.sides("l", "r") + "}\n\\toprule\n" + t.grid("", " & ", " \\\\\n", "\\midrule\n", func(line, column int, words string) string {
		if t.Bold[At{line, column}] {
			return `\textbf{` + latex(words) + "}"
		}
		return latex(words)
	}) + "\\bottomrule\n\\end{tabular}\n"
	if t.Note != "" {
		text += "\\par\\smallskip{\\footnotesize " + latex(t.Note) + "\\par}\n"
	}
	return text
}

// latex escapes text for TeX. Groups keep commands apart from what follows, and a "[" or "*" at the beginning of a line from the
// "\\" before it.
func latex(words string) string { return texWords.Replace(words) }

var texWords = strings.NewReplacer(latexSymbols()...)

// latexSymbols lists what TeX would interpret, or has no letter for, each followed by its replacement.
func latexSymbols() []string {
	all := []string{
		`\`, `\textbackslash{}`, "{", `\{`, "}", `\}`, "$", `\$`, "&", `\&`, "#", `\#`, "%", `\%`, "_", `\_`,
		"^", `\textasciicircum{}`, "~", `\textasciitilde{}`, "<", `\textless{}`, ">", `\textgreater{}`, "|", `\textbar{}`,
		`"`, "''", "*", "{*}", "[", "{[}", "]", "{]}", "\n", " ", "\r", " ", " %", `~\%`,
		"–", "--", "—", "---", "…", `\ldots{}`, "’", "'", "‘", "`", "“", "``", "”", "''", "\u00a0", "~",
	}
	for symbol, command := range map[string]string{
		"±": `\pm`, "−": "-", "×": `\times`, "·": `\cdot`, "≤": `\leq`, "≥": `\geq`, "≠": `\neq`, "≈": `\approx`, "→": `\to`, "∞": `\infty`,
		"√": `\surd`, "Σ": `\Sigma`, "Δ": `\Delta`, "Ω": `\Omega`, "Φ": `\Phi`, "Γ": `\Gamma`, "Λ": `\Lambda`, "Θ": `\Theta`, "Π": `\Pi`, "Ψ": `\Psi`,
		"‖": `\|`, "²": "^2", "³": "^3", "¹": "^1", "⁰": "^0", "⁴": "^4", "⁵": "^5", "⁶": "^6", "⁷": "^7", "⁸": "^8", "⁹": "^9", "⁻": "^-", "½": `\frac{1}{2}`, "∇": `\nabla`, "∈": `\in`, "°": `^\circ`,
		"α": `\alpha`, "β": `\beta`, "γ": `\gamma`, "δ": `\delta`, "ε": `\varepsilon`, "ζ": `\zeta`, "η": `\eta`, "θ": `\theta`,
		"ι": `\iota`, "κ": `\kappa`, "λ": `\lambda`, "μ": `\mu`, "\u00b5": `\mu`, "ν": `\nu`, "ξ": `\xi`, "π": `\pi`, "ρ": `\rho`, "σ": `\sigma`,
		"τ": `\tau`, "υ": `\upsilon`, "φ": `\varphi`, "χ": `\chi`, "ψ": `\psi`, "ω": `\omega`, "ℓ": `\ell`, "′": `'`,
		"₀": "_0", "₁": "_1", "₂": "_2", "₃": "_3", "₄": "_4", "∗": "*", "✓": `\surd`, "✗": `\times`, "⊥": `\perp`, "∥": `\|`,
	} {
		all = append(all, symbol, "$"+command+"$")
	}
	return all
}
