// Package bill writes bills of materials in the format CycloneDX: the modules that a program is linked from,
// with their licenses. The same program gives identical bytes: a bill has no time and no serial number.
//
//	program, err := bill.Of(ctx, "bin/holdfast", "v1.2.3")
//	err = bill.Write("holdfast.cdx.json", program)
package bill

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// license is the license of Holdfast.
const license = "Apache-2.0"

// tool is the program that reads the modules of another one.
const tool = "github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod"

// Of returns the bill of a Go program. It reads the licenses of modules from the module cache.
func Of(ctx context.Context, program, version string) (*cdx.BOM, error) {
	if _, err := output(exec.CommandContext(ctx, "go", "list", "-deps", "-f", "", tool)); err != nil {
		return nil, fmt.Errorf("downloading the modules of %s: %w", tool, err)
	}
	cmd := exec.CommandContext(ctx, "go", "run", "-trimpath", tool, "bin", "-json", "-licenses", "-std", "-noserial", "-notimestamp", "-version", version, program)
	cmd.Env = append(os.Environ(), "GOPROXY=off") // the module of the program itself is nowhere to be downloaded
	text, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of %s: %w", program, err)
	}
	made, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("reading the bill of %s: %w", program, err)
	}
	// The bytes of the tool depend on the directory in which it was built.
	if tools := made.Metadata.Tools; tools != nil && tools.Tools != nil {
		for i := range *tools.Tools {
			(*tools.Tools)[i].Hashes = nil
		}
	}
	made.Metadata.Component.Licenses = &cdx.Licenses{{License: &cdx.License{ID: license}}}
	return made, nil
}

// output returns the output of a command. Its error contains what the command writes to standard error.
func output(cmd *exec.Cmd) ([]byte, error) {
	var messages bytes.Buffer
	cmd.Stderr = &messages
	text, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, messages.Bytes())
	}
	return text, err
}

// Read reads a bill from a file.
func Read(path string) (*cdx.BOM, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	made, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return made, nil
}

func decode(text []byte) (*cdx.BOM, error) {
	made := &cdx.BOM{}
	return made, cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(made)
}

// Write writes a bill to a file.
func Write(path string, made *cdx.BOM) error {
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).Encode(made); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
