package csar

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
)

// encrypted is the flag of an encrypted entry.
const encrypted = 0x1

// readZip returns the files. It checks every entry, but unpacks none. The directory at the end of a zip lists the
// entries, and each has a header of its own before its data. Programs read one or the other, so both must agree: see
// agrees.
func readZip(ctx context.Context, data []byte, limits Limits) (map[string]content, error) {
	// The number of entries is limited before the library allocates them: a header in the directory takes 46 bytes, and
	// ten times that in memory. The count is approximate, because file contents can contain the mark of a header.
	if bytes.Count(data, []byte("PK\x01\x02")) > 2*limits.Entries {
		return nil, fault(ArchiveTooLarge, "the archive has more than %d entries", limits.Entries)
	}
	at := &lastRead{ReaderAt: bytes.NewReader(data)}
	reader, err := zip.NewReader(at, int64(len(data)))
	if err != nil {
		return nil, fault(InvalidArchive, "is not a valid or complete zip file: %s", reason(err))
	}
	seen, files, sum := newNames(limits), map[string]content{}, int64(0)
	for _, entry := range reader.File {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		isDir := entry.FileInfo().IsDir()
		name, bad := seen.add(entry.Name, isDir)
		if bad == nil && !isDir {
			bad = admitZip(name, entry, limits)
		}
		if bad == nil && !at.agrees(data, entry) {
			bad = fault(InvalidArchive, "the local header and the directory describe the entry %s differently, so programs may read different files", quote(name))
		}
		if bad != nil {
			return nil, bad
		}
		if isDir {
			continue
		}
		sum += int64(entry.UncompressedSize64) // admitted: it is small
		files[name] = zipContent(name, entry)
	}
	if bad := limits.admitSum(sum, len(data)); bad != nil {
		return nil, bad
	}
	return files, seen.throughFile()
}

// admitZip checks an entry that is a file. name is its cleaned name. The ratio of a single file is checked in addition
// to that of the archive, because a bomb can be next to large files. The size in the header is trusted here, and
// enforced by zipContent.
func admitZip(name string, entry *zip.File, limits Limits) error {
	switch mode := entry.Mode(); {
	case mode&fs.ModeType != 0:
		return fault(InsecurePath, "the entry %s is a link or a device: only files are allowed", quote(name))
	case entry.Flags&encrypted != 0:
		return fault(InvalidArchive, "the entry %s is encrypted", quote(name))
	case entry.Method != zip.Store && entry.Method != zip.Deflate:
		return fault(InvalidArchive, "the entry %s has an unsupported compression: use deflate", quote(name))
	// The conversion to int64 below would overflow for larger sizes.
	case entry.UncompressedSize64 > uint64(limits.File):
		return limits.admit(name, int64(limits.File)+1)
	case entry.UncompressedSize64 > ratioMatters && entry.UncompressedSize64/uint64(limits.Ratio) > entry.CompressedSize64:
		return fault(ArchiveTooLarge, "the entry %s is compressed more than %d times, which is too much", quote(name), limits.Ratio)
	}
	return limits.admit(name, int64(entry.UncompressedSize64))
}

// lastRead records where the last read began: for DataOffset, at the local header of an entry. zip.File does not export
// the offset of the header, and DataOffset reads the header to find the data.
type lastRead struct {
	io.ReaderAt

	at int64
}

// ReadAt implements io.ReaderAt.
func (r *lastRead) ReadAt(p []byte, at int64) (int, error) {
	r.at = at
	return r.ReaderAt.ReadAt(p, at)
}

// agrees reports whether the local header before the data of an entry equals its entry in the directory. The library
// reads only the length of that header, but other programs use all of it. A header can omit sizes and checksum, if they
// follow the data. It compares the name, the method, the flag of encryption, the checksum and both sizes:
//
//	offset  6  flags             14  checksum            22  size
//	offset  8  method            18  compressed size     26  length of the name, which begins at 30
//
// All numbers are little-endian. A size of 4 GiB - 1 refers to the extra field of Zip64.
func (r *lastRead) agrees(data []byte, entry *zip.File) bool {
	const size, inExtra, follows = 30, 1<<32 - 1, 0x8
	body, err := entry.DataOffset()
	if err != nil || body > int64(len(data)) || body-r.at < size {
		return false
	}
	header := data[r.at:body]
	short := func(at int) uint16 { return binary.LittleEndian.Uint16(header[at:]) }
	same := func(at int, value uint64) bool {
		stated := binary.LittleEndian.Uint32(header[at:])
		return uint64(stated) == value || stated == inExtra || short(6)&follows != 0
	}
	return bytes.HasPrefix(header[size:], []byte(entry.Name)) && int(short(26)) == len(entry.Name) &&
		short(8) == entry.Method && short(6)&encrypted == entry.Flags&encrypted &&
		same(14, uint64(entry.CRC32)) && same(18, entry.CompressedSize64) && same(22, entry.UncompressedSize64)
}

// zipContent unpacks a file on demand. The library returns an error at the declared size, and the LimitReader also
// limits it.
func zipContent(name string, entry *zip.File) content {
	return func() ([]byte, error) {
		var unpacked bytes.Buffer
		reader, err := entry.Open()
		if err == nil {
			defer reader.Close()
			unpacked.Grow(int(entry.UncompressedSize64) + bytes.MinRead)
			_, err = unpacked.ReadFrom(io.LimitReader(reader, int64(entry.UncompressedSize64)+1))
		}
		if err != nil {
			return nil, fault(InvalidArchive, "%s cannot be unpacked: %s", quote(name), reason(err))
		}
		return unpacked.Bytes(), nil
	}
}

// reason returns a short reason for an error of the libraries, without their package names. The texts of the libraries
// change between versions of Go, and a status must not.
func reason(err error) string {
	switch {
	case errors.Is(err, zip.ErrChecksum):
		return "its checksum is wrong"
	case errors.Is(err, zip.ErrFormat):
		return "its format is invalid"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "it ends too early"
	default:
		return "its data is corrupt"
	}
}
