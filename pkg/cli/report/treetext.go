package report

import (
	"io"
	"slices"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

// TreeText is a printer of a tree, with names at the left, and health and age in columns:
//
//	Application shop/web    Not ready: Unhealthy  60s
//	├─ Service web          Current               60s
//	└─ Deployment web       Failed                60s
//	   │ ! the rollout has exceeded its deadline
//	   └─ ReplicaSet web-1  InProgress            -
//	        ! Available: 0/2
type TreeText struct {
	Output
	// All lists all resources, even if there are very many.
	All bool
}

// treeLine is one line of a tree before its columns are aligned.
type treeLine struct {
	branch *Branch
	stem   string // the prefix of the lines below it
	cells  []string
}

// Print writes a branch and all below it to w.
func (t *TreeText) Print(w io.Writer, root *Branch) error {
	root, rest := t.shown(root)
	lines := t.lines(root, "", "")
	rows := make([][]string, len(lines))
	for i, l := range lines {
		rows[i] = l.cells
	}
	for i, text := range terminal.Aligned(rows) {
		b := lines[i].branch
		t.line(t.Palette.Paint(branchStyle(b), text))
		for _, line := range terminal.WrapItem("! ", terminal.Visible(b.Message), t.Width-terminal.Length(lines[i].stem)) {
			t.line(lines[i].stem + t.Palette.Paint(terminal.Dim, line))
		}
	}
	t.wrapped("", rest)
	return terminal.Write(w, t.text.Bytes())
}

// shown returns the tree to print, and a text about the rest. If there are very many resources, it keeps only
// those with something to report about them or the objects that they own.
func (t *TreeText) shown(root *Branch) (shown *Branch, rest string) {
	if t.All || len(root.Children) <= mostListed {
		return root, ""
	}
	told := slices.DeleteFunc(slices.Clone(root.Children), isHealthy)
	some := *root
	some.Children = told[:min(len(told), mostListed)]
	return &some, notListed(len(some.Children), len(told)-len(some.Children), len(root.Children)-len(told))
}

// isHealthy reports whether there is nothing to report about an object and all objects that it owns.
func isHealthy(b *Branch) bool {
	isTelling := func(child *Branch) bool { return !isHealthy(child) }
	return b.Health == "Current" && b.Message == "" && !slices.ContainsFunc(b.Children, isTelling)
}

// branchStyle returns the color of a branch.
func branchStyle(b *Branch) terminal.Style {
	switch b.Health {
	case "Current", "Ready":
		return terminal.Plain
	case "InProgress", "Terminating":
		return terminal.Yellow
	default:
		return terminal.Purple
	}
}

// lines returns the lines of a branch and of all below it. first is the prefix of the branch, and stem is the
// prefix of everything below it.
func (t *TreeText) lines(b *Branch, first, stem string) []treeLine {
	age := "-"
	if !b.created.IsZero() {
		age = terminal.Span(t.Now.Sub(b.created))
	}
	below := stem
	if len(b.Children) > 0 {
		below += "│ "
	} else {
		below += "  "
	}
	lines := []treeLine{{b, below, []string{first + b.name, terminal.Visible(b.Health), age}}}
	for i, child := range b.Children {
		if i < len(b.Children)-1 {
			lines = append(lines, t.lines(child, stem+"├─ ", stem+"│  ")...)
			continue
		}
		lines = append(lines, t.lines(child, stem+"└─ ", stem+"   ")...)
	}
	return lines
}
