package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"holdfast.dev/holdfast/deploy"
)

type flags struct {
	source, version, revision, name, archive, push string
}

func main() {
	var f flags
	flag.StringVar(&f.source, "source", "../..", "`DIRECTORY` of the checkout")
	flag.StringVar(&f.version, "version", "devel", "`VERSION` that the program has")
	flag.StringVar(&f.revision, "revision", "", "`COMMIT` of the sources, for a label")
	flag.StringVar(&f.name, "name", deploy.Image(), "`NAME:TAG` of the image in the archive; the manifests use the default")
	flag.StringVar(&f.archive, "o", "", "`FILE` to write the image to, an OCI archive")
	flag.StringVar(&f.push, "push", "", "`REFERENCE` to push the image to, such as registry.example.com/holdfast-controller:v1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := f.run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func (f flags) run(ctx context.Context) error {
	if f.archive == "" && f.push == "" {
		return errors.New("-o, -push or both are needed")
	}
	var to name.Reference
	if f.push != "" {
		var err error
		if to, err = name.ParseReference(f.push); err != nil {
			return fmt.Errorf("-push: %w", err)
		}
	}
	tag, err := name.NewTag(f.name, name.StrictValidation)
	if err != nil {
		return fmt.Errorf("-name: %w", err)
	}
	image, err := f.build(ctx)
	if err != nil {
		return err
	}
	if f.archive != "" {
		if err := writeArchive(f.archive, image, tag); err != nil {
			return err
		}
		fmt.Println(f.archive)
	}
	if to != nil {
		return push(ctx, to, image)
	}
	return nil
}

// push pushes an image to a registry with the credentials of `docker login` or `podman login`, and prints
// the reference with the digest.
func push(ctx context.Context, to name.Reference, image v1.ImageIndex) error {
	if err := remote.WriteIndex(to, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing to %s: %w", to, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Println(to.Context().Digest(digest.String()))
	return nil
}
