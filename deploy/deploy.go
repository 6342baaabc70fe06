// Package deploy embeds the manifests of Holdfast, for programs that install them without a checkout. Users
// apply the same file, or another variant from docs/operations.md.
//
//	documents := deploy.Install() // YAML, several documents
package deploy

import (
	"bytes"
	"embed"
)

// Namespace is the namespace in the manifests.
const Namespace = "holdfast-system"

// development is the image of the controller in the files below this directory.
const development = "holdfast.dev/holdfast-controller:devel"

// image is the image of the controller that belongs to this build. The linker sets it in a release.
var image = development

// Image returns the image of the controller. Everything that builds or installs an image uses this name.
func Image() string { return image }

//go:embed install.yaml
var install []byte

// Install returns all objects of an installation, in the order in which they must be applied, as YAML
// documents. The file is the output of deploy/default, generated with `make generate`.
func Install() []byte { return WithImage(image) }

// WithImage returns the objects of Install with another image of the controller.
func WithImage(name string) []byte {
	return bytes.ReplaceAll(install, []byte(" image: "+development+"\n"), []byte(" image: "+name+"\n"))
}

//go:embed profiles/*.yaml
var profiles embed.FS

// Profiles returns the files below this directory with HoldProfiles. No installation contains them.
func Profiles() embed.FS { return profiles }
