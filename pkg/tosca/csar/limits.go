package csar

// Limits limit the cost of an archive. Sizes are in bytes. They are checked before memory is allocated: the headers of
// an archive declare sizes, and an attacker writes the headers. All limits are inclusive.
type Limits struct {
	// Archive is the maximum size of the archive itself.
	Archive int
	// Entries is the maximum number of files and directories.
	Entries int
	// Name is the maximum length of the path of an entry, and Levels the maximum number of names in it.
	Name, Levels int
	// Sum is the maximum total size of the unpacked files. Contents of one archive stay in memory for the translation,
	// so it limits that, too.
	Sum int
	// File is the maximum size of each unpacked file, and YAML that of each *.yaml and *.yml.
	File, YAML int
	// Ratio is the maximum ratio between the total size of the files and the size of the archive. A bomb has a ratio of
	// a thousand. Text compresses about ten times.
	Ratio int
}

// DefaultLimits returns the limits of docs/tosca.md.
//
//	the archive itself       8 MiB
//	entries                  1,000, with names of 4 KiB and 64 levels
//	unpacked, in total       32 MiB, and 100 times the size of the archive
//	one file                 1 MiB; 512 KiB for YAML
func DefaultLimits() Limits {
	return Limits{Archive: 8 << 20, Entries: 1000, Name: 4 << 10, Levels: 64, Sum: 32 << 20, File: 1 << 20, YAML: 512 << 10, Ratio: 100}
}

// ratioMatters is the size below which a file can have any ratio: a page of blanks is no attack.
const ratioMatters = 128 << 10

// metaLimit is the maximum size of TOSCA.meta, which is read line by line.
const metaLimit = 64 << 10

// admit checks the size that an archive declares for one file. size is negative in a header that is not valid. The
// archive cannot contain more than it declares: reading ends there.
func (l Limits) admit(name string, size int64) error {
	limit := l.File
	switch {
	case isYAML(name):
		limit = min(limit, l.YAML)
	case name == metaInFolder || name == metaInRoot:
		limit = min(limit, metaLimit)
	}
	if size < 0 || size > int64(limit) {
		return fault(ArchiveTooLarge, "%s is larger than %d bytes", quote(name), limit)
	}
	return nil
}

// admitSum checks the total size of the files. archive is the size of the packed archive. It is called after each entry
// of a tar, and once for a zip, whose entries are not unpacked before.
func (l Limits) admitSum(sum int64, archive int) error {
	if sum > int64(l.Sum) {
		return fault(ArchiveTooLarge, "the files of the archive are larger than %d bytes in total", l.Sum)
	}
	if sum > ratioMatters && sum > int64(l.Ratio)*int64(archive) {
		return fault(ArchiveTooLarge, "the files of the archive are more than %d times as large as the archive", l.Ratio)
	}
	return nil
}
