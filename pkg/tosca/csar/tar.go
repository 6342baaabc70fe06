package csar

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"strings"
)

// tarOverhead is the maximum size that headers and padding add to a file: two blocks, and those of long names.
const tarOverhead = 4 << 10

// readGzip unpacks the whole archive, because a tar has no index. It unpacks twice: first to find the size. The limit
// allows for the headers of all entries. Beyond it, admitSum always returns an error, because the limit is larger than
// Sum.
func readGzip(ctx context.Context, data []byte, limits Limits) (map[string]content, error) {
	limit := int64(limits.Sum + limits.Entries*tarOverhead)
	var size counter
	if err := gunzip(ctx, &size, data, limit+1); err != nil {
		return nil, fault(InvalidArchive, "is not a valid or complete gzip file: %s", reason(err))
	}
	if int64(size) > limit {
		return nil, limits.admitSum(int64(size), len(data))
	}
	unpacked := bytes.NewBuffer(make([]byte, 0, int(size)+bytes.MinRead))
	if err := gunzip(ctx, unpacked, data, int64(size)); err != nil {
		return nil, fault(InvalidArchive, "is not a valid or complete gzip file: %s", reason(err))
	}
	if Detect(unpacked.Bytes()) != Tar {
		return nil, fault(InvalidArchive, "is gzipped, but not a tar archive")
	}
	return readTar(ctx, unpacked.Bytes(), len(data), limits)
}

// counter counts the bytes that are written to it. Unpacking twice takes less memory than a growing buffer, which an
// attacker could exploit.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(data []byte) (int, error) {
	*c += counter(len(data))
	return len(data), nil
}

// gunzip unpacks at most limit bytes, and returns an error if ctx ends. Data beyond the limit are not read.
func gunzip(ctx context.Context, to io.Writer, data []byte, limit int64) error {
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err == nil {
		_, err = io.Copy(to, io.LimitReader(interruptible{ctx, reader}, limit))
	}
	return err
}

// interruptible is a reader that returns an error after the end of its context.
type interruptible struct {
	ctx context.Context //nolint:containedctx // it is that of one call
	io.Reader
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.Reader.Read(p)
}

// readTar returns the files. Their contents are parts of data. size is the size of the packed archive. It reads the
// headers with archive/tar and takes the contents from data, without a copy. After a header, the reader is at the
// beginning of the content.
//
// An insecure path is an error of names.add, with a better message than tar.ErrInsecurePath.
func readTar(ctx context.Context, data []byte, size int, limits Limits) (map[string]content, error) {
	at := bytes.NewReader(data)
	reader := tar.NewReader(at)
	seen, files, sum := newNames(limits), map[string]content{}, int64(0)
	for {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			return nil, fault(InvalidArchive, "is not a valid or complete tar file: %s", reason(err))
		}
		if header.Typeflag == tar.TypeXGlobalHeader {
			continue // git archive notes a commit in one
		}
		name, bad := seen.admitTar(header)
		if bad != nil {
			return nil, bad
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		sum += header.Size
		if bad := limits.admitSum(sum, size); bad != nil {
			return nil, bad
		}
		// The reader is at the beginning of the content, which is contiguous, because sparse files are rejected.
		begin := len(data) - at.Len()
		if header.Size > int64(at.Len()) {
			return nil, fault(InvalidArchive, "is not a valid or complete tar file: it ends within %s", quote(name))
		}
		part := data[begin : begin+int(header.Size)]
		files[name] = func() ([]byte, error) { return part, nil }
	}
	return files, seen.throughFile()
}

// admitTar checks an entry, and returns its cleaned name. Only files and directories are allowed. A hard link could
// refer to a file outside of the archive, as a symbolic link can. FIFOs and devices have no content.
func (n *names) admitTar(header *tar.Header) (string, error) {
	isDir := header.Typeflag == tar.TypeDir
	name, bad := n.add(header.Name, isDir)
	switch {
	case bad != nil, isDir:
		return name, bad
	case header.Typeflag != tar.TypeReg:
		return "", fault(InsecurePath, "the entry %s is a link or a device: only files are allowed", quote(header.Name))
	case isSparse(header):
		return "", fault(InvalidArchive, "the entry %s is a sparse file", quote(name))
	}
	return name, n.limits.admit(name, header.Size)
}

// isSparse reports whether an entry is a sparse file. Its size is not the number of its bytes in the archive. GNU tar
// declares them in two ways: with a type of entry, and with PAX records.
func isSparse(header *tar.Header) bool {
	for key := range header.PAXRecords {
		if strings.HasPrefix(key, "GNU.sparse.") {
			return true
		}
	}
	return header.Typeflag == tar.TypeGNUSparse
}
