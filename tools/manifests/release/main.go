package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

// release describes a release.
type release struct {
	source, to string
	version    string // with a "v"
	repository string // of the image
	downloads  string // base of the addresses of its files
	commit     string
}

func main() {
	var r release
	flag.StringVar(&r.source, "source", "../..", "`DIRECTORY` of the checkout")
	flag.StringVar(&r.to, "o", "../../dist", "`DIRECTORY` to write the files to; it must be empty or missing")
	flag.StringVar(&r.version, "version", "", "`VERSION` such as v1.2.3")
	flag.StringVar(&r.repository, "repository", repository, "`NAME` of the controller's image, without a tag")
	flag.StringVar(&r.downloads, "downloads", "", "`URL` below which the files will be; default "+downloads+"/VERSION")
	flag.Parse()
	r.downloads = cmp.Or(r.downloads, downloads+"/"+r.version)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := r.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

const (
	// downloads is the base of the addresses of all releases.
	downloads = "https://holdfast.dev/releases"
	// homepage is the address of the project.
	homepage = "https://holdfast.dev"
	// summary is the first sentence of the README.
	summary = "Holds exactly the fields you name, on any Kubernetes object"
)

var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z]+(\.[0-9A-Za-z]+)*)?$`)

// number returns the version without its "v".
func (r release) number() string { return strings.TrimPrefix(r.version, "v") }

// image returns the name of the controller's image.
func (r release) image() string { return r.repository + ":" + r.version }

// path returns the path of a file of the release.
func (r release) path(file string) string { return filepath.Join(r.to, file) }

// run writes all files. Later steps read files of earlier ones.
func (r release) run(ctx context.Context) error {
	if !versions.MatchString(r.version) {
		return fmt.Errorf("%q is not a version: give one such as v1.2.3", r.version)
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		r.notes, r.manifests, r.chart, r.archives, r.oci, r.plugin, r.formula, r.provenance, r.sums,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// begin finds the commit and creates the directory.
func (r *release) begin(ctx context.Context) error {
	changed, err := r.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the checkout has changes that no commit contains: commit or remove them first\n%s", changed)
	}
	if r.commit, err = r.git(ctx, "rev-parse", "HEAD"); err != nil {
		return err
	}
	if found, err := os.ReadDir(r.to); err == nil && len(found) > 0 {
		return fmt.Errorf("%s is not empty: remove it first", r.to)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.MkdirAll(r.to, 0o755)
}

func (r release) git(ctx context.Context, args ...string) (string, error) {
	output, err := exec.CommandContext(ctx, "git", append([]string{"-C", r.source}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
