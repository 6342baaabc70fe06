// Package legal collects the licenses and notices of the modules in a program.
package legal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

// Texts are the texts that licenses require with a program.
type Texts struct {
	License, Notices []byte
}

// Collect returns the license of the project, and the texts of all modules that the program is linked from.
func Collect(ctx context.Context, source string, p product.Program) (Texts, error) {
	modules, err := linked(ctx, source, p)
	if err != nil {
		return Texts{}, err
	}
	return collect(source, p, modules)
}

// collect returns the license of the project, and the texts of the modules.
func collect(source string, p product.Program, modules []module) (Texts, error) {
	own, err := os.ReadFile(filepath.Join(source, "LICENSE"))
	if err != nil {
		return Texts{}, err
	}
	var notices strings.Builder
	fmt.Fprintf(&notices, "%s contains the following modules.\n", p.Name)
	for _, m := range modules {
		texts, err := m.texts()
		if err != nil {
			return Texts{}, err
		}
		fmt.Fprintf(&notices, "\n%s\n%s %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, strings.Join(texts, "\n\n"))
	}
	return Texts{own, []byte(notices.String())}, nil
}

// module is a module that a program is linked from, or the standard library.
type module struct{ path, version, directory string }

// linked returns the modules of a program except for its own, in order of their paths, and the standard
// library first.
func linked(ctx context.Context, source string, p product.Program) ([]module, error) {
	list := func(args ...string) ([]string, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = source
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+p.OS, "GOARCH="+p.Architecture)
		output, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("listing the modules of %s for %s: %w", p.Name, p.Platform(), err)
		}
		return strings.Split(strings.TrimSpace(string(output)), "\n"), nil
	}
	environment, err := list("env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	lines, err := list("list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/"+p.Name)
	if err != nil {
		return nil, err
	}
	slices.Sort(lines)
	modules := []module{{"Go", environment[0], environment[1]}}
	for _, line := range slices.Compact(lines) {
		if parts := strings.Split(line, "\t"); len(parts) == 3 {
			modules = append(modules, module{parts[0], parts[1], parts[2]})
		}
	}
	return modules, nil
}

// legal matches the names of files with licenses and notices.
var legal = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// texts returns the licenses and notices of a module, in order of their files.
func (m module) texts() (texts []string, err error) {
	directory := m.directory
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() || !legal.MatchString(entry.Name()) || strings.HasSuffix(entry.Name(), ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(string(text)))
	}
	if len(texts) == 0 {
		return nil, errors.New(m.path + " " + m.version + " has no license: do not link it")
	}
	return texts, nil
}
