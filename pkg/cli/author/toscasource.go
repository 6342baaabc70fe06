package author

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"holdfast.dev/holdfast/internal/version"
	"holdfast.dev/holdfast/pkg/cli/files"
	remote "holdfast.dev/holdfast/pkg/fetch"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/tosca"
)

// toscaOptions are the options to read and translate templates.
type toscaOptions struct {
	in       io.Reader
	given    files.InputFlags
	networks []string
	// root is the value of --root; "" for the directory of the template.
	root string
	// texts are the values of --input by name, as they were typed.
	texts   map[string]string
	options tosca.Options
	fetcher source.Fetcher
}

// add registers the flags. Without --root and --allow-url-network, a template by another author reads only files below
// its directory, and public URLs.
func (o *toscaOptions) add(flags *pflag.FlagSet) {
	o.given.Add(flags)
	flags.StringVar(&o.root, "root", "", "`DIRECTORY`: root of imports like ../types.yaml; default: the directory of the template")
	flags.StringArrayVar(&o.networks, "allow-url-network", nil, "`NETWORK`: private network from which URLs may be fetched, for example 10.1.0.0/16")
}

// parse validates the flags, and sets the fields that depend on them. With raw, the result contains the text of each node.
func (o *toscaOptions) parse(in io.Reader, raw bool) (err error) {
	o.in = in
	o.options = tosca.Options{
		StrictConcat: o.given.StrictConcat, IgnoreForeignNodes: o.given.IgnoreForeignNodes, QuoteFetched: true, Raw: raw,
	}
	if o.fetcher, err = fetcherFor(o.networks); err == nil {
		o.texts, err = o.given.Texts()
	}
	return err
}

// fetcherFor returns a fetcher for a user on their own machine. It fetches every https URL, but from this
// machine and networks like it only if they are named. Templates by another author can contain URLs, too.
//
//	https://example.com/a.yaml      allowed
//	http://example.com/a.yaml       not allowed
//	https://10.1.2.3/a.yaml         only with --allow-url-network 10.1.0.0/16
//	https://169.254.169.254/...     the same: the metadata of cloud machines
func fetcherFor(networks []string) (source.Fetcher, error) {
	options := remote.Options{Anywhere: true, UserAgent: "holdfast/" + version.String()}
	for _, text := range networks {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("--allow-url-network needs a network such as 10.1.0.0/16, not %q", text)
		}
		options.Networks = append(options.Networks, network.Masked())
	}
	return remote.New(options)
}

// translator is tosca.Translate, or tosca.Validate for a template without values for its inputs.
type translator func(context.Context, tosca.Source, map[string]tosca.Input, tosca.Options) (tosca.Result, error)

// translate reads the template or archive in a file, and the inputs, and translates it. tosca.Errors lists the
// validation errors in the error.
func (o *toscaOptions) translate(ctx context.Context, file string, how translator) (tosca.Result, error) {
	inputs, inputsErr := o.inputs(ctx)
	source, err := o.source(ctx, file)
	if err = errors.Join(err, inputsErr); err != nil {
		return tosca.Result{}, err
	}
	var imports importer
	// Imports of other templates have no directory; they can only be URLs.
	if file != files.Stdin && source.URL == "" {
		if imports, err = o.openRoot(file); err != nil {
			return tosca.Result{}, err
		}
		defer func() { _ = imports.root.Close() }() // opened only for reading
	}
	imports.fetcher = o.fetcher
	options := o.options
	options.Resolver = imports
	return how(ctx, source, inputs, options)
}

// openRoot opens the directory to which the imports of a template are limited. It returns an error if the
// template is not in it.
//
//	file              --root   root       below
//	shop.yaml         ""       .          .
//	t/shop/shop.yaml  ""       t/shop     .
//	t/shop/shop.yaml  t        t          shop
//	shop.yaml         t        an error
func (o *toscaOptions) openRoot(file string) (importer, error) {
	root, below := filepath.Dir(file), "."
	if o.root != "" {
		root = o.root
		above, aboveErr := filepath.Abs(root)
		template, err := filepath.Abs(filepath.Dir(file))
		if err = errors.Join(aboveErr, err); err != nil {
			return importer{}, err
		}
		if below, err = filepath.Rel(above, template); err != nil || !filepath.IsLocal(below) {
			return importer{}, fmt.Errorf("%s: is not in the directory %s of --root", file, root)
		}
	}
	opened, err := os.OpenRoot(root)
	if err != nil {
		return importer{}, files.Unreadable(root, err)
	}
	return importer{root: opened, below: filepath.ToSlash(below), given: o.root != ""}, nil
}

// source reads a template or archive. One byte more than the limit is read, and package tosca rejects the
// size.
//
//   - name "stdin", without imports of files
//     https://...  with its URL, to which relative imports refer
//     a file       with the files of its directory
func (o *toscaOptions) source(ctx context.Context, file string) (tosca.Source, error) {
	const most = 8 << 20 // the limit of archives; templates are smaller
	switch {
	case file == files.Stdin:
		data, err := io.ReadAll(io.LimitReader(o.in, most+1))
		return tosca.Source{Name: files.StdinName, Data: data}, err
	case files.IsURL(file):
		page, err := o.fetcher.Get(ctx, file, remote.Page{})
		if err != nil {
			return tosca.Source{}, fmt.Errorf("%s: %w", file, err)
		}
		return tosca.Source{Name: file, Data: page.Data, URL: file}, nil
	}
	data, err := files.ReadUpTo(ctx, most, files.Opening(file))
	if err != nil {
		return tosca.Source{}, files.Unreadable(file, err)
	}
	return tosca.Source{Name: file, Data: data}, nil
}

// inputs returns the inputs from the file and the flags.
func (o *toscaOptions) inputs(ctx context.Context) (map[string]tosca.Input, error) {
	values, err := o.given.Values(ctx)
	inputs := make(map[string]tosca.Input, len(values)+len(o.texts))
	for name, value := range values {
		inputs[name] = tosca.Input{Value: value}
	}
	for name, text := range o.texts {
		inputs[name] = tosca.TextInput(text, false)
	}
	return inputs, err
}

// importer is a tosca.Resolver of URLs, and of files in the directory of a template or in the one that --root
// names. Templates by another author cannot read any other file.
type importer struct {
	// root is nil for a template from standard input or a URL. It never follows a link out of the directory.
	root *os.Root
	// below is the directory of the template in root.
	below string
	// given is set if --root names the directory.
	given   bool
	fetcher source.Fetcher
}

// Resolve implements tosca.Resolver.
//
//	types.yaml         below/types.yaml in root
//	../types.yaml      an error, unless --root names a higher directory
//	/etc/passwd        below/etc/passwd in root
//	https://...        the fetcher
func (b importer) Resolve(ctx context.Context, location string) ([]byte, error) {
	const most = 1 << 20
	switch {
	case files.IsURL(location):
		page, err := b.fetcher.Get(ctx, location, remote.Page{})
		return page.Data, err
	case b.root == nil:
		return nil, errors.New("a template from standard input cannot import files")
	}
	name := filepath.FromSlash(path.Join(b.below, location))
	switch {
	case filepath.IsLocal(name):
	case b.given:
		return nil, errors.New("is outside the directory of --root")
	default:
		return nil, errors.New("is outside the directory of the template: set a higher directory with --root")
	}
	if err := b.check(name); err != nil {
		return nil, err
	}
	data, err := files.ReadUpTo(ctx, most, func() (*os.File, error) { return b.root.Open(name) })
	return data, unnamed(err)
}

// check returns an error unless a file is regular: reading a pipe or a device may never end. os.Root already rejects
// links that leave the directory. This check makes the error for them understandable.
func (b importer) check(name string) error {
	info, err := b.root.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return nil
	case err == nil && info.IsDir():
		return syscall.EISDIR
	}
	// os.Root does not follow the link, and its error does not explain that.
	if _, elsewhere := os.Stat(filepath.Join(b.root.Name(), name)); err != nil && elsewhere == nil {
		return errors.New("is a link to a file outside the root directory of imports")
	}
	if err != nil {
		return unnamed(err)
	}
	return errors.New("is not a regular file")
}

// unnamed removes the name of the file from an error, because the message already contains it.
func unnamed(err error) error {
	if of, is := errors.AsType[*fs.PathError](err); is && !errors.Is(err, fs.ErrNotExist) {
		return of.Err
	}
	return err
}
