package main

import (
	"bytes"
	"context"
	"os"
	"text/template"

	"holdfast.dev/holdfast/tools/manifests/internal/product"
)

// download is an archive of the command line as package managers need it.
type download struct {
	OS, Architecture, Executable, URL, SHA256 string
}

// fields is the input of the templates below.
type fields struct {
	Version, Number, Summary, Homepage string
	Downloads                          []download
}

// manifest is the manifest of the plugin for krew.
var manifest = template.Must(template.New("").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: holdfast
spec:
  version: {{.Version}}
  homepage: {{.Homepage}}
  shortDescription: {{.Summary}}
  description: |
    Holdfast corrects the fields that an Application names when they drift, and
    writes no other fields. This plugin shows and changes Applications, and
    works with files without a cluster.
  platforms:
{{- range .Downloads}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Architecture}}
    uri: {{.URL}}
    sha256: {{.SHA256}}
    bin: {{.Executable}}
    files:
    - {from: {{.Executable}}, to: .}
    - {from: LICENSE, to: .}
    - {from: THIRD-PARTY-NOTICES, to: .}
{{- end}}
`))

// recipe is the formula for Homebrew.
//
//nolint:dupword // Ruby ends blocks with "end"
var recipe = template.Must(template.New("").Parse(`class Holdfast < Formula
  desc "{{.Summary}}"
  homepage "{{.Homepage}}"
  version "{{.Number}}"
  license "Apache-2.0"
{{range .Downloads}}{{if ne .OS "windows"}}
  if OS.{{if eq .OS "darwin"}}mac{{else}}linux{{end}}? && Hardware::CPU.{{if eq .Architecture "arm64"}}arm{{else}}intel{{end}}?
    url "{{.URL}}"
    sha256 "{{.SHA256}}"
  end
{{end}}{{end}}
  def install
    bin.install "holdfast"
    bash_completion.install "completions/holdfast.bash" => "holdfast"
    zsh_completion.install "completions/_holdfast"
    fish_completion.install "completions/holdfast.fish"
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/holdfast version --client")
  end
end
`))

// plugin writes the manifest of the plugin for krew.
func (r release) plugin(context.Context) error { return r.fill(manifest, "krew-holdfast.yaml") }

// formula writes the formula for Homebrew.
func (r release) formula(context.Context) error { return r.fill(recipe, "holdfast.rb") }

// fill fills a template with the archives of the command line, and writes it to a file.
func (r release) fill(text *template.Template, name string) error {
	all := fields{r.version, r.number(), summary, homepage, nil}
	for _, p := range product.Programs() {
		if p.Name != "holdfast" {
			continue
		}
		found, err := r.download(p)
		if err != nil {
			return err
		}
		all.Downloads = append(all.Downloads, found)
	}
	var filled bytes.Buffer
	if err := text.Execute(&filled, all); err != nil {
		return err
	}
	return os.WriteFile(r.path(name), filled.Bytes(), 0o644)
}

func (r release) download(p product.Program) (download, error) {
	name := archiveOf(p, r.version)
	digest, err := digestOf(r.path(name))
	return download{p.OS, p.Architecture, executable(p), r.downloads + "/" + name, digest}, err
}
