package csar

// Limits bound what an archive may cost. Sizes are in bytes.
type Limits struct {
	// Archive is how large the archive itself may be.
	Archive int
	// Entries is how many files and directories it may have.
	Entries int
	// Name is how long the name of an entry may be, Levels how many directories and
	// files it may be made of.
	Name, Levels int
	// Sum is how large its files may be together, unpacked.
	Sum int
	// File is how large each may be, YAML how large each *.yaml and *.yml.
	File, YAML int
	// Ratio is how many times larger than the archive the files may be.
	Ratio int
}

// DefaultLimits returns the limits of docs/tosca.md.
func DefaultLimits() Limits {
	return Limits{Archive: 8 << 20, Entries: 1000, Name: 4 << 10, Levels: 64, Sum: 32 << 20, File: 1 << 20, YAML: 512 << 10, Ratio: 100}
}

// ratioMatters is the size below which a file may be as dense as it likes: a
// page of blanks is no attack.
const ratioMatters = 128 << 10

// metaLimit bounds TOSCA.meta, which is read line by line.
const metaLimit = 64 << 10

// admit checks the sizes that an archive declares for one file.
func (l Limits) admit(name string, size int64) *Error {
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

// admitSum checks what all files are together.
func (l Limits) admitSum(sum int64, archive int) *Error {
	if sum > int64(l.Sum) {
		return fault(ArchiveTooLarge, "the files of the archive are larger than %d bytes in total", l.Sum)
	}
	if sum > ratioMatters && sum > int64(l.Ratio)*int64(archive) {
		return fault(ArchiveTooLarge, "the files of the archive are more than %d times as large as the archive", l.Ratio)
	}
	return nil
}
