package datasets

import (
	"fmt"
	"regexp"
	"strings"
)

// plays makes a data set of plays, of which a role's first lines are for training.
func plays(p *published, files [][]byte) (*Dataset, error) {
	d := &Dataset{Name: p.name, Classes: p.classes}
	d.Train.Width, d.Test.Width = window, window
	owners := int32(0)
	for _, play := range files {
		for _, role := range roles(string(play)) {
			if n := len(role); n > 1 {
				cut := n - (n+4)/5
				d.Train.addText(codes[int](strings.Join(role[:cut], "")), owners, window, p.classes)
				d.Test.addText(codes[int](strings.Join(role[cut:], "")), owners, window, p.classes)
				owners++
			}
		}
	}
	if owners == 0 {
		return nil, fmt.Errorf("%s has no plays", p.archive.name)
	}
	return d, nil
}

var (
	blankLine = regexp.MustCompile(`\n[ \t\r]*\n`)
	italics   = regexp.MustCompile(`_+[^_]*_+|\*[^*]*\*`) // stage directions, perhaps of several lines
)

// roles returns the lines of each role of a play, each with its newline, in the order of first lines. A play is Markdown:
// headings for acts and scenes, stage directions in italics, and paragraphs that begin with the role in bold,
//
//	**HAMLET**
//	_[Aside]_ A little more than kin, and less than kind.
//
// A role speaks until the next one, or the next heading.
func roles(play string) (lines [][]string) {
	const bold = "\x00" // in the place of **
	play = strings.NewReplacer(`\`, "", "—", "--", bold, "", "**", bold).Replace(play)
	number, now := map[string]int{}, -1 // of the roles
	for _, paragraph := range blankLine.Split(play, -1) {
		for line := range strings.Lines(italics.ReplaceAllString(paragraph, "")) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "#") {
				now = -1
				continue
			}
			if name, isRole := strings.CutPrefix(line, bold); isRole {
				name, line, _ = strings.Cut(name, bold)
				known := false
				if now, known = number[name]; !known {
					now = len(lines)
					number[name], lines = now, append(lines, nil)
				}
			}
			line = strings.TrimSpace(strings.Map(func(c rune) rune {
				if strings.ContainsRune(Characters, c) && c != '\n' {
					return c
				}
				return -1
			}, line))
			if now >= 0 && line != "" {
				lines[now] = append(lines[now], line+"\n")
			}
		}
	}
	return lines
}
