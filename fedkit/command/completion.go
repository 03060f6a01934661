package command

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"fedkit.example/fedkit/catalog"
	"fedkit.example/fedkit/preset"
	"github.com/alecthomas/kong"
)

// completionCommand prints static scripts. What completes for kong, jotaen/kong-completion and willabides/kongplete, starts the program
// at every Tab and brings five modules, whose last releases are of 2019 to 2023.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"One of ${enum}."`
}

// Help implements kong.HelpProvider.
func (*completionCommand) Help() string {
	return `  source <(./scripts/fedkit completion bash)       # in ~/.bashrc; for zsh, completion zsh in ~/.zshrc
  ./scripts/fedkit completion fish >~/.config/fish/completions/fedkit.fish

Commands, options and the names of what there is (strategies, data sets, …) are completed, after fedkit and any path to it.`
}

// Run prints the script.
func (k *completionCommand) Run(c *console, app *kong.Application) error {
	words, values := completions(app)
	if k.Shell == "fish" {
		return fishScript(c.out, words, values)
	}
	return bashScript(c.out, words, values, k.Shell == "zsh")
}

// completions returns the words that may follow each command, "" for none, and the values of options. Files are completed by the
// shell.
func completions(app *kong.Application) (words, values map[string][]string) {
	words, values = map[string][]string{}, map[string][]string{"--preset": preset.Names()}
	for _, k := range catalog.Kinds() {
		if flag := partFlags[k.Name]; flag != "" {
			values[flag] = namesOf(k)
		}
		if words["list"] = append(words["list"], namesOf(k)...); !strings.Contains(k.Plural, " ") {
			words["list"] = append(words["list"], k.Plural)
		}
	}
	var visit func(n *kong.Node, path string)
	visit = func(n *kong.Node, path string) {
		for _, child := range n.Children {
			words[path] = append(words[path], child.Name)
			visit(child, strings.TrimSpace(path+" "+child.Name))
		}
		flags := n.Flags
		if n.DefaultCmd != nil {
			flags = slices.Concat(flags, n.DefaultCmd.Flags)
		}
		for _, a := range n.Positional {
			if a.Enum != "" {
				words[path] = append(words[path], a.EnumSlice()...)
			}
		}
		for _, f := range append(flags, app.Flags...) {
			if words[path] = append(words[path], "--"+f.Name); f.Enum != "" {
				values["--"+f.Name] = f.EnumSlice()
			}
		}
		slices.Sort(words[path])
		words[path] = slices.Compact(words[path])
	}
	visit(app.Node, "")
	return words, values
}

// partFlags are the options of run that take a component of a kind.
var partFlags = map[string]string{"strategy": "--strategy", "data set": "--data", "partition": "--partition", "model": "--model", "rule of devices": "--devices"}

// bashScript completes in bash and, by its emulation, in zsh.
func bashScript(to io.Writer, words, values map[string][]string, zsh bool) error {
	var b strings.Builder
	if zsh {
		b.WriteString("autoload -U +X compinit bashcompinit && compinit && bashcompinit\n")
	}
	b.WriteString("_fedkit() {\n\tlocal at= word choices= i\n\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tword=${COMP_WORDS[i]}\n\t\tcase \"$at${at:+ }$word\" in\n")
	commands := slices.DeleteFunc(slices.Sorted(maps.Keys(words)), func(path string) bool { return path == "" })
	fmt.Fprintf(&b, "\t\t'%s') at=\"$at${at:+ }$word\" ;;\n\t\tesac\n\tdone\n\tcase ${COMP_WORDS[COMP_CWORD-1]} in\n", strings.Join(commands, "' | '"))
	for _, flag := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "\t%s) choices='%s' ;;\n", flag, strings.Join(values[flag], " "))
	}
	b.WriteString("\t*) case $at in\n")
	for _, path := range slices.Sorted(maps.Keys(words)) {
		fmt.Fprintf(&b, "\t\t'%s') choices='%s' ;;\n", path, strings.Join(words[path], " "))
	}
	b.WriteString("\t\tesac ;;\n\tesac\n\tCOMPREPLY=($(compgen -W \"$choices\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -o default -F _fedkit fedkit\n")
	_, err := io.WriteString(to, b.String())
	return err
}

// fishScript completes in fish.
func fishScript(to io.Writer, words, values map[string][]string) error {
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(words)) {
		when := "__fish_use_subcommand"
		if path != "" {
			when = "__fish_seen_subcommand_from " + strings.Join(strings.Fields(path), "; and __fish_seen_subcommand_from ")
		}
		var plain []string
		for _, w := range words[path] {
			flag, isFlag := strings.CutPrefix(w, "--")
			if !isFlag {
				plain = append(plain, w)
				continue
			}
			fmt.Fprintf(&b, "complete -c fedkit -n '%s' -l %s", when, flag)
			if values[w] != nil {
				fmt.Fprintf(&b, " -xa '%s'", strings.Join(values[w], " "))
			}
			b.WriteString("\n")
		}
		if plain != nil {
			fmt.Fprintf(&b, "complete -c fedkit -n '%s' -a '%s'\n", when, strings.Join(plain, " "))
		}
	}
	_, err := io.WriteString(to, b.String())
	return err
}
