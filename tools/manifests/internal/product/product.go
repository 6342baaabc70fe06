// Package product builds the programs of Holdfast for other machines. The same sources, version, image and
// Go give identical bytes on any machine.
//
//	product.Build{Source: "../..", Version: "v1.2.3", Image: "holdfast.dev/holdfast-controller:v1.2.3"}.
//		Write(ctx, product.Program{Name: "holdfast", OS: "linux", Architecture: "arm64"}, "bin/holdfast")
package product

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build describes what all programs of one build have in common.
type Build struct {
	// Source is the directory of the checkout.
	Source string
	// Version is the version that the programs print.
	Version string
	// Image is the image of the controller that `holdfast install` installs.
	Image string
}

// Program is a program for one platform. Its directory below cmd has the same name.
type Program struct{ Name, OS, Architecture string }

// Platform returns the platform as in linux/amd64.
func (p Program) Platform() string { return p.OS + "/" + p.Architecture }

// Write builds a program and writes it to a file.
func (b Build) Write(ctx context.Context, p Program, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	const module = "holdfast.dev/holdfast"
	cmd := exec.CommandContext(ctx, "go", "-C", b.Source, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid= "+
		"-X "+module+"/internal/version.number="+b.Version+" -X "+module+"/deploy.image="+b.Image, "-o", path, "./cmd/"+p.Name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+p.OS, "GOARCH="+p.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w\n%s", p.Name, p.Platform(), err, output)
	}
	return nil
}

// Programs returns the programs of a release: the command line for all systems, and the controller for Linux.
func Programs() (all []Program) {
	for _, architecture := range []string{"amd64", "arm64"} {
		for _, system := range []string{"linux", "darwin", "windows"} {
			all = append(all, Program{Name: "holdfast", OS: system, Architecture: architecture})
		}
		all = append(all, Program{Name: "holdfast-controller", OS: "linux", Architecture: architecture})
	}
	return all
}
