package command

import (
	"errors"
	"fmt"
	"go/doc/comment"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"fedkit.example/fedkit/catalog"
)

const width = 100 // of texts, in characters

type namesCommand struct {
	Name string `arg:"" optional:"" help:"List all of a kind with their options and sources, such as strategies, or describe one in full, such as Krum."`
	form
}

// componentLine is a component in one line of JSON.
type componentLine struct {
	Kind     string           `json:"kind"`
	Name     string           `json:"name"`
	Type     string           `json:"type"` // in Go
	Synopsis string           `json:"synopsis"`
	Source   string           `json:"source,omitempty"`
	Options  []catalog.Option `json:"options,omitempty"`
}

// Run lists the kinds, the things of one of them, or describes a thing.
func (l *namesCommand) Run(c *console) error {
	kinds := slices.DeleteFunc(catalog.Kinds(), func(k catalog.Kind) bool {
		return l.Name != "" && !strings.EqualFold(l.Name, k.Plural) && !strings.EqualFold(l.Name, k.Name)
	})
	switch {
	case l.JSON:
		return l.printLines(c, kinds)
	case len(kinds) == 0:
		return describe(c.out, l.Name)
	case l.Name != "":
		return overview(c.out, kinds[0])
	}
	for _, k := range kinds {
		fmt.Fprintf(c.out, "%s: %s\n", k.Plural, strings.Join(namesOf(k), ", "))
	}
	return nil
}

func namesOf(k catalog.Kind) (names []string) {
	for _, t := range k.Components() {
		names = append(names, t.Name)
	}
	return names
}

// printLines prints the components of these kinds or, without any, those of the name, in JSON lines.
func (l *namesCommand) printLines(c *console, kinds []catalog.Kind) (err error) {
	var all []catalog.Component
	for _, k := range kinds {
		all = append(all, k.Components()...)
	}
	if all == nil {
		all, err = catalog.Find(l.Name, catalog.Kinds()...)
	}
	for _, t := range all {
		err = errors.Join(err, c.lines().Encode(componentLine{t.Kind.Name, t.Name, t.Type(), t.Synopsis(), t.Source(), t.Options()}))
	}
	return err
}

// overview prints, for each thing of a kind, its synopsis, its source and its options.
func overview(to io.Writer, k catalog.Kind) error {
	for _, t := range k.Components() {
		fmt.Fprintf(to, "%s\n%s", t.Name, indented(t.Synopsis()))
		if s := t.Source(); s != "" {
			fmt.Fprint(to, indented("source: "+s))
		}
		if err := options(to, t.Options(), false); err != nil {
			return err
		}
		fmt.Fprintln(to)
	}
	return nil
}

// describe prints everything about the things of that name.
func describe(to io.Writer, name string) error {
	things, err := catalog.Find(name, catalog.Kinds()...)
	if err != nil {
		return err
	}
	for i, t := range things {
		if i > 0 {
			fmt.Fprintln(to)
		}
		fmt.Fprintf(to, "%s, %s: %s\n\n%s\n", t.Name, t.Kind.Name, t.Type(), t.Doc(width))
		if s := t.Source(); s != "" {
			fmt.Fprint(to, indented("source: "+s))
		}
		if err := options(to, t.Options(), true); err != nil {
			return err
		}
	}
	return nil
}

// indented breaks a text into lines.
func indented(text string) string {
	return string((&comment.Printer{TextPrefix: "  ", TextWidth: width}).Text(new(comment.Parser).Parse(text)))
}

// options prints a table; if deep is set, also the options of structs.
func options(to io.Writer, all []catalog.Option, deep bool) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	rows(w, "", all, deep)
	return w.Flush()
}

func rows(w io.Writer, path string, all []catalog.Option, deep bool) {
	for _, o := range all {
		if deep && o.Options != nil {
			rows(w, path+o.Name+".", o.Options, deep)
			continue
		}
		values := o.Type
		if o.Range != "" {
			values += " in " + strings.Replace(o.Range, ",", ", ", 1)
		}
		usual := "" // the comment has it, or the struct's tag
		if o.Default != "" {
			usual = "default " + o.Default
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", path+o.Name, values, usual, o.Comment)
	}
}
