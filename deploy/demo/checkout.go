package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"holdfast.dev/holdfast/internal/testcluster/binaries"
)

// checkout is the repository that the demo runs in.
type checkout struct{ root string }

// The programs in bin/.
const (
	controlplaneProgram = "controlplane"
	controllerProgram   = "holdfast-controller"
	holdfastProgram     = "holdfast"
)

func findCheckout() (checkout, error) {
	root, err := binaries.Root()
	if err != nil {
		return checkout{}, fmt.Errorf("%w: change to one", err)
	}
	return checkout{root}, nil
}

func (c checkout) program(name string) string { return filepath.Join(c.root, "bin", name) }

// built returns an error with a remedy if a program is missing.
func (c checkout) built() error {
	var missing []error
	for _, program := range []struct{ name, target string }{
		{controlplaneProgram, "controlplane"},
		{controllerProgram, "build"},
		{holdfastProgram, "build"},
	} {
		if _, err := os.Stat(c.program(program.name)); err != nil {
			missing = append(missing, fmt.Errorf("bin/%s is missing: run `make %s`", program.name, program.target))
		}
	}
	return errors.Join(missing...)
}
