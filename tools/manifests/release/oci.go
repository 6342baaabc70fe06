package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"holdfast.dev/holdfast/tools/manifests/internal/bill"
	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

// authorities is the module whose certificate authorities the image contains.
const authorities = "golang.org/x/crypto/x509roots/fallback"

// oci writes the image as an archive, and its bill of materials.
func (r release) oci(ctx context.Context) error {
	archive, err := filepath.Abs(r.path("holdfast-controller_" + r.version + "_image.tar"))
	if err != nil {
		return err
	}
	output, err := exec.CommandContext(ctx, "go", "run", "./image", "-source", r.source,
		"-version", r.version, "-revision", r.commit, "-name", r.image(), "-o", archive).CombinedOutput()
	if err != nil {
		return fmt.Errorf("building the image: %w\n%s", err, output)
	}
	return r.billOfImage(ctx, archive)
}

// billOfImage writes the bill of materials of the image: the program, and the certificate authorities. The
// program is linked from the same modules for all architectures.
func (r release) billOfImage(ctx context.Context, archive string) error {
	program := product.Program{Name: "holdfast-controller", OS: "linux", Architecture: "amd64"}
	made, err := bill.Read(r.path(billOf(program, r.version)))
	if err != nil {
		return err
	}
	version, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", authorities).Output()
	if err != nil {
		return fmt.Errorf("finding the version of %s: %w", authorities, err)
	}
	digest, err := digestOf(archive)
	if err != nil {
		return err
	}
	describeImage(made, r.image(), r.version, digest, string(version[:len(version)-1]))
	return bill.Write(r.path("holdfast-controller_"+r.version+"_image.cdx.json"), made)
}

// describeImage turns the bill of the program into that of the image.
func describeImage(made *cdx.BOM, image, version, digest, trusted string) {
	program := *made.Metadata.Component
	made.Metadata.Component = &cdx.Component{
		BOMRef: image, Type: cdx.ComponentTypeContainer, Name: image, Version: version, Licenses: program.Licenses,
		Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: digest}},
	}
	address := "pkg:golang/" + authorities + "@" + trusted + "?type=module"
	*made.Components = append(*made.Components, program, cdx.Component{
		BOMRef: address, Type: cdx.ComponentTypeLibrary, Name: authorities, Version: trusted, PackageURL: address,
		Licenses: &cdx.Licenses{{License: &cdx.License{ID: "BSD-3-Clause"}}},
	})
	*made.Dependencies = append(*made.Dependencies, cdx.Dependency{Ref: image, Dependencies: &[]string{program.BOMRef, address}})
}

func digestOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}
