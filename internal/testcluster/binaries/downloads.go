package binaries

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// downloads parses the messages of the go command, which prints a line for each module that it downloads, and
// reports their number now and then.
type downloads struct {
	log io.Writer
	// most is the number of modules in go.sum. Some of them can be in the module cache already.
	most   int
	begun  int
	said   time.Time
	unread []byte
}

// newDownloads returns the downloads of a module with the arguments of a build.
func newDownloads(log io.Writer, module string, args []string) *downloads {
	sums := "go.sum"
	for _, arg := range args {
		if modules, is := strings.CutPrefix(arg, "-modfile="); is {
			sums = strings.TrimSuffix(modules, ".mod") + ".sum"
		}
	}
	text, _ := os.ReadFile(filepath.Join(module, sums)) // without the file, go list returns an error
	most := bytes.Count(text, []byte("\n")) - bytes.Count(text, []byte("/go.mod "))
	return &downloads{log: log, most: most, said: time.Now()}
}

// Write handles messages of the go command, in chunks of any size.
func (d *downloads) Write(output []byte) (int, error) {
	d.unread = append(d.unread, output...)
	for {
		line, rest, found := bytes.Cut(d.unread, []byte("\n"))
		if !found {
			return len(output), nil
		}
		d.unread = rest
		if !bytes.HasPrefix(line, []byte("go: downloading ")) {
			continue
		}
		d.begun++
		if time.Since(d.said) > patience {
			d.said = time.Now()
			fmt.Fprintf(d.log, "downloading modules: %d of at most %d\n", d.begun, d.most)
		}
	}
}
