// Command run plants bugs and reports those that no test notices. Its arguments are names of bugs, or
// prefixes of names; without arguments it plants all bugs.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"holdfast.dev/holdfast/internal/mutants"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) //nolint:forbidigo // this is where it begins
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:forbidigo,gocritic // this is main; nothing is left to be stopped
	}
}

func run(ctx context.Context, names []string) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	all, err := mutants.Read("internal/mutants/planted")
	if err != nil {
		return err
	}
	survived, planted := 0, 0
	for _, m := range all {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(m.Name, name) }) {
			continue
		}
		planted++
		began := time.Now()
		killed, output, err := m.Run(ctx, root)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		verdict := "killed by " + strings.Join(killers(output), ", ")
		switch {
		case !killed && m.Survives != "":
			verdict = "survives: " + m.Survives
		case !killed:
			verdict = "SURVIVES"
			survived++
		}
		fmt.Fprintf(os.Stdout, "%-60s %s (%.0f s)\n", m.Name, verdict, time.Since(began).Seconds())
	}
	fmt.Fprintf(os.Stdout, "%d planted, %d survive without a reason\n", planted, survived)
	if survived > 0 {
		return fmt.Errorf("%d bugs are not noticed", survived)
	}
	return nil
}

var failedTest = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// killers returns the failed tests.
func killers(output string) (names []string) {
	for _, match := range failedTest.FindAllStringSubmatch(output, -1) {
		names = append(names, match[1])
	}
	return names
}
