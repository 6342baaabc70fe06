package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/resource"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Input is a reader of files, directories, URLs and standard input.
//
//	name          read as                                  Line and column in errors
//	a.yaml        YAML or JSON, several documents          yes
//	manifests/    all files that end in ManifestFiles      yes
//	https://...   like a file, up to fetchLimit            yes
//	-             standard input                           yes
type Input struct {
	// In is read for the file "-".
	In io.Reader
	// Recursive includes the subdirectories of directories.
	Recursive bool
}

// Read returns the documents in the files, in the order of the files. Each list is replaced by its items. The
// error joins the errors of all files; the documents of the other files are then returned, too.
func (i Input) Read(ctx context.Context, files []string) ([]manifest.Document, error) {
	var all []manifest.Document
	var faults []error
	for _, file := range files {
		documents, err := i.readOne(ctx, file)
		all, faults = append(all, documents...), append(faults, err)
	}
	return all, errors.Join(faults...)
}

// readOne returns the documents of one file, or of all files in a directory.
func (i Input) readOne(ctx context.Context, file string) ([]manifest.Document, error) {
	// A file that does not exist, or a URL, is handled below, with its own message.
	if info, err := os.Stat(file); file != Stdin && err == nil && info.IsDir() {
		return i.readDirectory(ctx, file)
	}
	name, data, err := i.content(ctx, file)
	if err != nil {
		return nil, Unreadable(name, err)
	}
	documents, err := manifest.Read(name, data)
	if err != nil {
		return nil, err
	}
	return manifest.Expand(documents)
}

// ManifestFiles lists the file name extensions that are read in a directory.
var ManifestFiles = []string{".yaml", ".yml", ".json"}

// readDirectory reads the files in a directory whose extensions are in ManifestFiles, in lexical order. A directory
// without such a file is an error, because a mistyped path must not mean an empty Application. Links to files are
// read; links to directories below the directory are not followed, because they can form a cycle.
func (i Input) readDirectory(ctx context.Context, directory string) ([]manifest.Document, error) {
	var files []string
	// WalkDir follows no links. With a separator at the end, the operating system follows one to the directory itself.
	root := directory + string(filepath.Separator)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && !i.Recursive:
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains(ManifestFiles, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, Unreadable(directory, err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: contains no file that ends in %s: use another directory, or -R for its subdirectories",
			directory, strings.Join(ManifestFiles, ", "))
	}
	return i.Read(ctx, files)
}

// content returns the content of a file, and its name for messages. It reads URLs completely into memory, up to
// fetchLimit. Standard input and local files have no limit: the user chooses them.
func (i Input) content(ctx context.Context, file string) (name string, data []byte, err error) {
	switch {
	case file == Stdin:
		data, err = io.ReadAll(i.In)
		return StdinName, data, err
	case IsURL(file):
		data, err = fetch(ctx, file)
		return file, data, err
	default:
		data, err = ReadFile(ctx, Opening(file))
		return file, data, err
	}
}

const (
	// fetchTimeout limits the whole download, including redirects.
	fetchTimeout = 30 * time.Second
	// fetchLimit is the maximum size of a download in bytes.
	fetchLimit = 16 << 20
)

// fetch downloads a URL with the HTTP client of the user's environment, including its proxy. Another status than 200
// is an error. It accepts http and https, and follows redirects, as kubectl apply -f URL does.
func fetch(ctx context.Context, address string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server responds %s", response.Status)
	}
	// One byte more than the limit shows that the body is too long.
	data, err := io.ReadAll(io.LimitReader(response.Body, fetchLimit+1))
	if err == nil && len(data) > fetchLimit {
		err = fmt.Errorf("it is longer than %d MiB", fetchLimit>>20)
	}
	return data, err
}

// kustomized builds a kustomization, as `kubectl kustomize` does, and returns its documents. Their positions are in
// the built objects, not in the files of the kustomization. It fetches remote bases like kubectl, which needs git
// for some of them. It runs no plugins.
func kustomized(directory string) ([]manifest.Document, error) {
	infos, err := resource.NewLocalBuilder().Unstructured().
		FilenameParam(false, &resource.FilenameOptions{Kustomize: directory}).Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("-k %s: %w", directory, err)
	}
	documents := make([]manifest.Document, 0, len(infos))
	for _, info := range infos {
		raw, err := json.Marshal(info.Object)
		if err != nil {
			return nil, fmt.Errorf("-k %s: %w", directory, err)
		}
		read, err := manifest.Read(directory, raw)
		if err != nil {
			return nil, err
		}
		documents = append(documents, read...)
	}
	return documents, nil
}

// Unreadable returns an error that explains why a file cannot be read. The name of the file appears once in it.
//
//	open a.yaml: permission denied       a.yaml: cannot be read: permission denied
//	open a.yaml: no such file or ...     a.yaml: the file does not exist
//	Get "https://x/a.yaml": EOF          https://x/a.yaml: cannot be read: EOF
func Unreadable(file string, err error) error {
	var path *fs.PathError
	var sent *url.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: the file does not exist", file)
	case errors.As(err, &path):
		return fmt.Errorf("%s: cannot be read: %w", file, path.Err)
	case errors.As(err, &sent):
		return fmt.Errorf("%s: cannot be read: %w", file, sent.Err) // without the URL, because file is the URL
	default:
		return fmt.Errorf("%s: cannot be read: %w", file, err)
	}
}

// IsURL reports whether the name of a file is a URL.
func IsURL(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}
