package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"
)

// Mutant is one planted bug.
type Mutant struct {
	Name string
	// Tests contains the arguments of the `go test` command that must fail.
	Tests []string
	// Survives is the reason why no test needs to notice the bug. It is usually empty.
	Survives string
	changes  []change
}

type change struct{ file, old, replacement string }

// Read reads the planted bugs in a directory.
func Read(dir string) ([]Mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []Mutant
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			return nil, err
		}
		m, err := parse(archive)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		m.Name = strings.TrimSuffix(filepath.Base(file), ".txtar")
		all = append(all, m)
	}
	return all, nil
}

func parse(archive *txtar.Archive) (m Mutant, err error) {
	for line := range strings.Lines(string(archive.Comment)) {
		line = strings.TrimSpace(line)
		if tests, is := strings.CutPrefix(line, "test: "); is {
			m.Tests = strings.Fields(tests)
		}
		if reason, is := strings.CutPrefix(line, "survives: "); is {
			m.Survives = reason
		}
	}
	if len(m.Tests) == 0 || len(archive.Files) == 0 {
		return m, errors.New(`it needs a line "test: " and a file`)
	}
	for _, file := range archive.Files {
		var old, replacement strings.Builder
		for line := range strings.Lines(string(file.Data)) {
			switch {
			case strings.HasPrefix(line, "-"):
				old.WriteString(line[1:])
			case strings.HasPrefix(line, "+"):
				replacement.WriteString(line[1:])
			case strings.HasPrefix(line, " "):
				old.WriteString(line[1:])
				replacement.WriteString(line[1:])
			case strings.TrimSpace(line) != "":
				return m, fmt.Errorf("%s: a line begins with a space, - or +", file.Name)
			}
		}
		m.changes = append(m.changes, change{file.Name, old.String(), replacement.String()})
	}
	return m, nil
}

// Plant returns the files with the bug, by their names below root.
func (m Mutant) Plant(root string) (map[string]string, error) {
	planted := map[string]string{}
	for _, c := range m.changes {
		text, has := planted[c.file]
		if !has {
			raw, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, err
			}
			text = string(raw)
		}
		if n := strings.Count(text, c.old); n != 1 {
			return nil, fmt.Errorf("%s: the replaced text occurs %d times instead of once:\n%s", c.file, n, c.old)
		}
		planted[c.file] = strings.Replace(text, c.old, c.replacement, 1)
	}
	return planted, nil
}

// Run plants the bug and runs its tests. It reports whether they fail, as they should, and returns their
// output. The error is for a bug that cannot be planted or does not compile. go vet is disabled, because a
// bug can look suspicious.
func (m Mutant) Run(ctx context.Context, root string) (killed bool, output string, err error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return false, "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return false, "", err
	}
	output, err = command(ctx, root, append([]string{"test", "-count=1", "-vet=off", "-overlay", overlay}, m.Tests...))
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		return false, "", err
	}
	if err != nil && !strings.Contains(output, "--- FAIL") && !strings.Contains(output, "panic: ") {
		return false, "", fmt.Errorf("no test has failed, and it does not compile perhaps:\n%s", output)
	}
	return err != nil, output, nil
}

// overlay writes the planted files to a directory, with the overlay file for the go command.
func (m Mutant) overlay(root, dir string) (string, error) {
	planted, err := m.Plant(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range planted {
		file := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, name)] = file
	}
	raw, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, raw, 0o600)
}

func command(ctx context.Context, root string, args []string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	output, err := cmd.CombinedOutput()
	return string(output), err
}
