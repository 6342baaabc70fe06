package csar_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

const template = "tosca_definitions_version: tosca_simple_yaml_1_3\n"

// entry is a file, directory or link that is written to an archive.
type entry struct {
	name, content string
	mode          fs.FileMode
	flags         uint16
	typeflag      byte
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Flags: e.flags}
		if e.mode != 0 {
			header.SetMode(e.mode)
		}
		w, err := writer.CreateHeader(header)
		require.NoError(t, err)
		if !strings.HasSuffix(e.name, "/") {
			_, err = w.Write([]byte(e.content))
			require.NoError(t, err)
		}
	}
	require.NoError(t, writer.Close())
	return archive.Bytes()
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Mode: 0o644, Size: int64(len(e.content)), Typeflag: e.typeflag, Format: tar.FormatPAX}
		if header.Typeflag == 0 {
			header.Typeflag = tar.TypeReg
		}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if header.Typeflag == tar.TypeSymlink || header.Typeflag == tar.TypeLink {
			header.Linkname = "/etc/passwd"
		}
		if header.Typeflag == tar.TypeXGlobalHeader {
			header = &tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "a commit"}}
		}
		require.NoError(t, writer.WriteHeader(header))
		_, err := writer.Write([]byte(e.content))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	return archive.Bytes()
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := writer.Write(data)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return packed.Bytes()
}

func files(pairs ...string) (entries []entry) {
	for i := 0; i < len(pairs); i += 2 {
		entries = append(entries, entry{name: pairs[i], content: pairs[i+1]})
	}
	return entries
}

const meta = "TOSCA-Metadata/TOSCA.meta"

func TestEntry(t *testing.T) {
	for _, row := range []struct {
		name     string
		entries  []entry
		entry    string
		version  string
		warnings []string
	}{
		{"TOSCA.meta of 1.0 names it", files(meta, "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.0\nEntry-Definitions: a/b.yaml\n", "a/b.yaml", template, "c.yaml", template), "a/b.yaml", "1.0", nil},
		{"TOSCA.meta of 1.1 names it", files(meta, "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: b.yaml", "b.yaml", template), "b.yaml", "1.1", nil},
		{"TOSCA.meta of 2.0 in the root names it", files("TOSCA.meta", "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 2.0\nEntry-Definitions: ./b.yaml\n", "b.yaml", template), "b.yaml", "2.0", nil},
		{"the key of TOSCA in XML is the same", files(meta, "TOSCA-Meta-Version: 1.0\nCSAR-Version: 1.0\nEntry-Definitions: b.yaml\n", "b.yaml", template), "b.yaml", "1.0", nil},
		{"without blanks, with CRLF, unknown keys and a second block", files(meta, "\r\nTOSCA-Meta-File-Version:1.0\r\nCSAR-Version:1.1\r\nX-Mine: 1\r\nOther-Definitions: x.yaml\r\nEntry-Definitions:b.yaml\r\n\r\nnonsense\r\nEntry-Definitions: c.yaml", "b.yaml", template), "b.yaml", "1.1", nil},
		{"a line that begins with a blank continues the last", files(meta, "TOSCA-Meta-File-Version: 1.0\nCSAR-Version: 1.1\nEntry-Definitions: defini\n tions/b.yaml\n", "definitions/b.yaml", template), "definitions/b.yaml", "1.1", nil},
		{"without versions there are warnings", files(meta, "Entry-Definitions: b.yaml\n", "b.yaml", template), "b.yaml", "", []string{"TOSCA-Metadata/TOSCA.meta: TOSCA-Meta-File-Version is missing", "TOSCA-Metadata/TOSCA.meta: CSAR-Version is missing"}},
		{"a root TOSCA.meta of 1.1 is a warning", files("TOSCA.meta", "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: b.yaml\n", "b.yaml", template), "b.yaml", "1.1", []string{"TOSCA.meta: in CSAR 1.1 it belongs in TOSCA-Metadata/TOSCA.meta"}},
		{"2.0 without Entry-Definitions takes the only root file", files(meta, "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 2.0\n", "b.yml", template, "d/c.yaml", template), "b.yml", "2.0", nil},
		{"without TOSCA.meta it is the only root file", files("b.YAML", template, "readme.txt", "", "d/c.yaml", template), "b.YAML", "", nil},
		{"TOSCA.meta as YAML has it, with a comment and quotes", files(meta, "# made by hand\nTOSCA-Meta-File-Version: '1.0'\nCSAR-Version: \"1.1\"\n# the template\nEntry-Definitions: 'b.yaml'\n", "b.yaml", template), "b.yaml", "1.1", nil},
		{"a hidden file is none of the templates", files("b.yaml", template, "._b.yaml", "\x00\x05\x16\x07"), "b.yaml", "", nil},
		{"directories are no files", append(files("b.yaml", template), entry{name: "c.yaml/"}, entry{name: "c.yaml/"}), "b.yaml", "", nil},
	} {
		for kind, pack := range map[string]func() []byte{
			"zip":    func() []byte { return zipOf(t, row.entries...) },
			"tar":    func() []byte { return tarOf(t, row.entries...) },
			"tar.gz": func() []byte { return gzipOf(t, tarOf(t, row.entries...)) },
		} {
			t.Run(row.name+", "+kind, func(t *testing.T) {
				archive, err := csar.Open(t.Context(), pack(), csar.DefaultLimits())
				require.NoError(t, err)
				assert.Equal(t, row.entry, archive.Entry)
				assert.Equal(t, row.version, archive.Version)
				assert.Equal(t, row.warnings, archive.Warnings)
				content, err := archive.File(archive.Entry)
				require.NoError(t, err)
				assert.Equal(t, template, string(content))
			})
		}
	}
}

func TestATarOfADirectoryAndOfACommit(t *testing.T) {
	data := tarOf(t, entry{typeflag: tar.TypeXGlobalHeader}, entry{name: "./", typeflag: tar.TypeDir}, entry{name: "./d/", typeflag: tar.TypeDir}, entry{name: "./d/x.yaml", content: "1"}, entry{name: "./b.yaml", content: template})
	archive, err := csar.Open(t.Context(), data, csar.DefaultLimits())
	require.NoError(t, err)
	assert.Equal(t, "b.yaml", archive.Entry)
	assert.Equal(t, []string{"b.yaml", "d/x.yaml"}, archive.Names())
	_, err = archive.File("nope")
	assert.EqualError(t, err, `"nope" is not in the archive`)
}

func TestMistakes(t *testing.T) {
	ok := files("b.yaml", template)
	with := func(more ...entry) []entry { return append(more, ok...) }
	many := make([]entry, 0, 10_000)
	for i := range cap(many) {
		many = append(many, entry{name: fmt.Sprintf("f%d", i)})
	}
	large := strings.Repeat("0123456789abcdef", 1<<16) + "x"
	for _, row := range []struct {
		name string
		data []byte
		code string
		want string
	}{
		{"no archive", []byte("text"), csar.InvalidArchive, "is neither a zip nor a tar archive"},
		{"a zip cut off", zipOf(t, ok...)[:60], csar.InvalidArchive, "is not a valid or complete zip file: its format is invalid"},
		{"a gzip cut off", gzipOf(t, tarOf(t, ok...))[:40], csar.InvalidArchive, "is not a valid or complete gzip file: it ends too early"},
		{"a gzip of no tar", gzipOf(t, []byte(template)), csar.InvalidArchive, "is gzipped, but not a tar archive"},
		{"a tar cut off", tarOf(t, files("b.yaml", strings.Repeat("#", 1000))...)[:700], csar.InvalidArchive, `is not a valid or complete tar file: it ends within "b.yaml"`},
		{"a path upwards", zipOf(t, with(files("../a.yaml", "")...)...), csar.InsecurePath, `the entry "../a.yaml" has an insecure path: it must be relative, with / between names, and without ..`},
		{"a path upwards further down", zipOf(t, with(files("a/../../b", "")...)...), csar.InsecurePath, `the entry "a/../../b" has an insecure path: it must be relative, with / between names, and without ..`},
		{"an absolute path", zipOf(t, with(files("/etc/passwd", "")...)...), csar.InsecurePath, `the entry "/etc/passwd" has an insecure path: it must be relative, with / between names, and without ..`},
		{"a backslash", zipOf(t, with(files(`..\a`, "")...)...), csar.InsecurePath, `the entry "..\\a" has an insecure path: it must be relative, with / between names, and without ..`},
		{"a drive", zipOf(t, with(files("C:a", "")...)...), csar.InsecurePath, `the entry "C:a" has an insecure path: it must be relative, with / between names, and without ..`},
		{"a NUL", zipOf(t, with(files("a\x00b", "")...)...), csar.InsecurePath, `the entry "a\x00b" has an insecure path: it must be relative, with / between names, and without ..`},
		{"a name in another encoding", zipOf(t, with(files("\x84.txt", "")...)...), csar.InvalidArchive, `the entry "\x84.txt" has a name that is not UTF-8: pack the archive with names in UTF-8, or without this file`},
		{"a symbolic link in a zip", zipOf(t, with(entry{name: "l", content: "/etc/passwd", mode: fs.ModeSymlink | 0o777})...), csar.InsecurePath, `the entry "l" is a link or a device: only files are allowed`},
		{"a symbolic link in a tar", tarOf(t, with(entry{name: "l", typeflag: tar.TypeSymlink})...), csar.InsecurePath, `the entry "l" is a link or a device: only files are allowed`},
		{"a hard link", tarOf(t, with(entry{name: "l", typeflag: tar.TypeLink})...), csar.InsecurePath, `the entry "l" is a link or a device: only files are allowed`},
		{"a device", tarOf(t, with(entry{name: "l", typeflag: tar.TypeChar})...), csar.InsecurePath, `the entry "l" is a link or a device: only files are allowed`},
		{"a path upwards in a tar", tarOf(t, with(files("../a", "")...)...), csar.InsecurePath, `the entry "../a" has an insecure path: it must be relative, with / between names, and without ..`},
		{"an encrypted entry", zipOf(t, with(entry{name: "e", flags: 1})...), csar.InvalidArchive, `the entry "e" is encrypted`},
		{"two entries of one name", zipOf(t, with(ok...)...), csar.DuplicateEntry, `the archive has "b.yaml" twice (as "b.yaml"), so programs may read different files`},
		{"two entries with names that differ in case", zipOf(t, with(files("B.yaml", "")...)...), csar.DuplicateEntry, `the archive has "b.yaml" twice (as "B.yaml"), so programs may read different files`},
		{"two entries with names that differ in case, reversed", zipOf(t, append(files("b.yaml", ""), files("B.yaml", "")...)...), csar.DuplicateEntry, `the archive has "B.yaml" twice (as "b.yaml"), so programs may read different files`},
		{"a file that is a directory too", zipOf(t, with(files("b.yaml/c", "")...)...), csar.DuplicateEntry, `the archive has "b.yaml" as a file and as the directory of "b.yaml/c"`},
		{"a name of 4,097 bytes", zipOf(t, with(files(strings.Repeat("a", 4097), "")...)...), csar.ArchiveTooLarge, `the name of the entry "` + strings.Repeat("a", 80) + `"… is longer than 4096 bytes: shorten it`},
		{"a name of 160,000 bytes in a tar", gzipOf(t, tarOf(t, with(files(strings.Repeat("a/", 80_000)+"b", "")...)...)), csar.ArchiveTooLarge, `the name of the entry "` + strings.Repeat("a/", 40) + `"… is longer than 4096 bytes: shorten it`},
		{"65 levels", tarOf(t, with(files(strings.Repeat("a/", 64)+"b", "")...)...), csar.ArchiveTooLarge, `the entry "` + strings.Repeat("a/", 40) + `"… is in directories nested deeper than 64 levels: move it up`},
		{"10,000 entries", zipOf(t, many...), csar.ArchiveTooLarge, "the archive has more than 1000 entries"},
		{"1,001 entries in a tar", tarOf(t, many[:1001]...), csar.ArchiveTooLarge, "the archive has more than 1000 entries"},
		{"an archive that is too large", append(zipOf(t, ok...), make([]byte, 9<<20)...), csar.ArchiveTooLarge, "the archive is larger than 8388608 bytes"},
		{"a file that is too large", zipOf(t, with(files("a.bin", large)...)...), csar.ArchiveTooLarge, `"a.bin" is larger than 1048576 bytes`},
		{"YAML that is too large", tarOf(t, files("b.yaml", large[:1<<19+1])...), csar.ArchiveTooLarge, `"b.yaml" is larger than 524288 bytes`},
		{"a ratio of 1000", zipOf(t, with(files("a.bin", strings.Repeat("0", 1<<20))...)...), csar.ArchiveTooLarge, `the entry "a.bin" is compressed more than 100 times, which is too much`},
		{"a gzip with a ratio of 1000", gzipOf(t, tarOf(t, files("a.bin", strings.Repeat("0", 1<<20), "b.bin", strings.Repeat("0", 1<<20), "b.yaml", template)...)), csar.ArchiveTooLarge, "the files of the archive are more than 100 times as large as the archive"},
		{"a gzip of 64 MiB of zeros", gzipOf(t, make([]byte, 64<<20)), csar.ArchiveTooLarge, "the files of the archive are larger than 33554432 bytes in total"},
		{"a TOSCA.meta that is too large", tarOf(t, with(files(meta, "CSAR-Version: 1.1\n"+strings.Repeat(" \n", 1<<15))...)...), csar.ArchiveTooLarge, `"TOSCA-Metadata/TOSCA.meta" is larger than 65536 bytes`},
		{"no TOSCA.meta and no template", zipOf(t, files("a.txt", "")...), csar.NoEntry, "the archive has no TOSCA-Metadata/TOSCA.meta, so it should have exactly one YAML file in its root, and has 0"},
		{"no TOSCA.meta and two templates", zipOf(t, files("a.yaml", "", "b.yml", "")...), csar.NoEntry, "the archive has no TOSCA-Metadata/TOSCA.meta, so it should have exactly one YAML file in its root, and has 2"},
		{"a packed directory", zipOf(t, files("shop/a.yaml", "", "shop/TOSCA-Metadata/TOSCA.meta", "")...), csar.NoEntry, `the archive has no TOSCA-Metadata/TOSCA.meta, so it should have exactly one YAML file in its root, and has 0; all files are in the directory "shop": pack its content, not the directory`},
		{"two TOSCA.meta", zipOf(t, files(meta, "", "TOSCA.meta", "")...), csar.InvalidMeta, "the archive has TOSCA-Metadata/TOSCA.meta and TOSCA.meta: remove one of them"},
		{"no Entry-Definitions in 1.1", zipOf(t, with(files(meta, "CSAR-Version: 1.1\n")...)...), csar.NoEntry, "TOSCA-Metadata/TOSCA.meta:1: Entry-Definitions is missing: it must name the entry template"},
		{"Entry-Definitions that are not there", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nEntry-Definitions: nope.yaml\n")...)...), csar.NoEntry, `TOSCA-Metadata/TOSCA.meta:2: the Entry-Definitions file "nope.yaml" does not exist in the archive`},
		{"Entry-Definitions outside", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nEntry-Definitions: ../../etc/passwd\n")...)...), csar.InsecurePath, `TOSCA-Metadata/TOSCA.meta:2: Entry-Definitions "../../etc/passwd" points outside the CSAR`},
		{"Entry-Definitions with a backslash", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nEntry-Definitions: a\\b.yaml\n")...)...), csar.InsecurePath, `TOSCA-Metadata/TOSCA.meta:2: Entry-Definitions "a\\b.yaml" is not a path in the CSAR: it must be relative to the root, with / between names`},
		{"a key twice", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nCSAR-Version: 1.0\n")...)...), csar.InvalidMeta, `TOSCA-Metadata/TOSCA.meta:2: duplicate "CSAR-Version", first on line 1`},
		{"a line that is none", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nnonsense\n")...)...), csar.InvalidMeta, "TOSCA-Metadata/TOSCA.meta:2: a line must have the form Name: value"},
		{"an unknown CSAR-Version", zipOf(t, with(files(meta, "CSAR-Version: 3.0\n")...)...), csar.InvalidMeta, "TOSCA-Metadata/TOSCA.meta:1: CSAR-Version must be one of 1.0, 1.1, 2.0"},
		{"an unknown TOSCA-Meta-File-Version", zipOf(t, with(files(meta, "CSAR-Version: 1.1\nTOSCA-Meta-File-Version: 7\nEntry-Definitions: b.yaml\n")...)...), csar.InvalidMeta, "TOSCA-Metadata/TOSCA.meta:2: TOSCA-Meta-File-Version must be one of 1.0, 1.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := csar.Open(t.Context(), row.data, csar.DefaultLimits())
			require.EqualError(t, err, row.want)
			var fault *csar.Error
			require.ErrorAs(t, err, &fault)
			assert.Equal(t, row.code, fault.Code)
		})
	}
}

// Data that several entries share is counted once for each entry.
// A status with the error must not change while the archive does not.
func TestAnArchiveAlwaysHasTheSameError(t *testing.T) {
	archive := zipOf(t, files("main.yaml", template, "a", "", "a/b", "", "a/c", "", "d", "", "d/e", "")...)
	for range 50 {
		_, err := csar.Open(t.Context(), archive, csar.DefaultLimits())
		require.EqualError(t, err, `the archive has "a" as a file and as the directory of "a/b"`)
	}
}

func TestTheSumOfAllFilesIsBounded(t *testing.T) {
	var entries []entry
	for i := range 40 {
		noise := strings.Repeat(fmt.Sprintf("%07d,", i*7919), 1<<17)
		entries = append(entries, entry{name: fmt.Sprintf("f%d", i), content: noise})
	}
	limits := csar.DefaultLimits()
	limits.Ratio = 10_000 // this test does not check the ratio
	_, err := csar.Open(t.Context(), tarOf(t, entries...)[:1<<23], limits)
	require.Error(t, err, "it is cut off")
	limits.Archive = 1 << 30
	_, err = csar.Open(t.Context(), tarOf(t, entries...), limits)
	assert.EqualError(t, err, "the files of the archive are larger than 33554432 bytes in total")
}

func TestAFileThatLiesAboutItsSizeCannotBeUnpacked(t *testing.T) {
	data := zipOf(t, files("b.yaml", strings.Repeat("x", 5000))...)
	size := []byte{0x88, 0x13, 0, 0} // 5000
	require.GreaterOrEqual(t, bytes.Count(data, size), 1)
	archive, err := csar.Open(t.Context(), bytes.ReplaceAll(data, size, []byte{10, 0, 0, 0}), csar.DefaultLimits())
	require.NoError(t, err)
	_, err = archive.File("b.yaml")
	assert.EqualError(t, err, `"b.yaml" cannot be unpacked: its format is invalid`)
}

// asked is a context that is canceled after a number of Err calls.
type asked struct {
	context.Context //nolint:containedctx // asked is a context itself

	times, limit int
}

// Err implements context.Context.
func (a *asked) Err() error {
	if a.times++; a.times > a.limit {
		return context.Canceled
	}
	return nil
}

// Open checks the context for every entry, and for every part of the unpacked data.
func TestTheEndOfTheContextEndsOpen(t *testing.T) {
	entries := files("b.yaml", template)
	for i := range 99 {
		entries = append(entries, entry{name: fmt.Sprintf("f%d", i), content: fmt.Sprint(i)})
	}
	for _, row := range []struct {
		name string
		data []byte
	}{
		{"zip", zipOf(t, entries...)},
		{"tar", tarOf(t, entries...)},
		{"tar.gz", gzipOf(t, tarOf(t, entries...))},
	} {
		t.Run(row.name, func(t *testing.T) {
			whole := &asked{Context: t.Context(), limit: 1 << 20}
			_, err := csar.Open(whole, row.data, csar.DefaultLimits())
			require.NoError(t, err)
			require.GreaterOrEqual(t, whole.times, 100)
			for limit := range whole.times {
				_, err := csar.Open(&asked{Context: t.Context(), limit: limit}, row.data, csar.DefaultLimits())
				require.Error(t, err, "it is asked %d times", limit)
				var fault *csar.Error
				require.NotErrorAs(t, err, &fault)
			}
		})
	}
}

// Readers that use the central directory and readers that use the local file headers must see the same
// files.
func TestContradictoryZipIsRejected(t *testing.T) {
	good := zipOf(t, files("a.yaml", template, "b", "x")...)
	_, err := csar.Open(t.Context(), good, csar.DefaultLimits())
	require.NoError(t, err)
	for _, row := range []struct {
		name string
		at   int
		to   string
	}{
		{"another name", 30, "b.yaml"},
		{"another method", 8, "\x00"},
		{"encrypted", 6, "\x09"},
		{"another size, which does not follow", 6, "\x00\x00\x08\x00\x00\x00\x00\x00\x01\x02\x03\x04"},
	} {
		t.Run(row.name, func(t *testing.T) {
			bad := append([]byte(nil), good...)
			copy(bad[row.at:], row.to)
			_, err := csar.Open(t.Context(), bad, csar.DefaultLimits())
			require.EqualError(t, err, `the local header and the directory describe the entry "a.yaml" differently, so programs may read different files`)
		})
	}
}

func TestOtherArchivesAreNamed(t *testing.T) {
	for data, want := range map[string]string{
		"BZh91AY&SY\xff\xff":   "is a bzip2 file: pack it as zip, tar or tar.gz",
		"\xfd7zXZ\x00\x00":     "is an xz file: pack it as zip, tar or tar.gz",
		"\x28\xb5\x2f\xfd\x00": "is a zstd file: pack it as zip, tar or tar.gz",
		"#!/bin/sh\n" + string(zipOf(t, files("a.yaml", template)...)): "is a zip archive with other data before it: pack it as zip, tar or tar.gz",
	} {
		assert.Equal(t, csar.Unsupported, csar.Detect([]byte(data)))
		_, err := csar.Open(t.Context(), []byte(data), csar.DefaultLimits())
		assert.EqualError(t, err, want)
	}
	assert.Equal(t, csar.Template, csar.Detect([]byte("BZh: 1\n")))
}

// A growing buffer would allocate four times the limit.
func TestAGzipBombTakesLittle(t *testing.T) {
	for _, size := range []int{30 << 20, 60 << 20} {
		bomb := gzipOf(t, append(tarOf(t, files("a.yaml", template)...), make([]byte, size)...))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = csar.Open(t.Context(), bomb, csar.DefaultLimits())
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(50<<20))
	}
}

func TestANestedArchiveIsJustAFile(t *testing.T) {
	inner := zipOf(t, files("../../evil", "x")...)
	archive, err := csar.Open(t.Context(), zipOf(t, files("b.yaml", template, "inner.csar", string(inner))...), csar.DefaultLimits())
	require.NoError(t, err)
	content, err := archive.File("inner.csar")
	require.NoError(t, err)
	assert.Equal(t, inner, content)
}

// FuzzOpen checks that Open never panics, that every name is inside the archive, and that no file exceeds
// the size limit.
func FuzzOpen(f *testing.F) {
	all := files(meta, "TOSCA-Meta-File-Version: 1.1\nCSAR-Version: 1.1\nEntry-Definitions: a/b.yaml\n", "a/b.yaml", template)
	f.Add(zipOf(f, all...))
	f.Add(tarOf(f, all...))
	f.Add(gzipOf(f, tarOf(f, all...)))
	f.Add([]byte("PK\x03\x04"))
	limits := csar.Limits{Archive: 1 << 16, Entries: 20, Name: 1 << 10, Levels: 16, Sum: 1 << 16, File: 1 << 14, YAML: 1 << 13, Ratio: 100}
	f.Fuzz(func(t *testing.T, data []byte) {
		archive, err := csar.Open(t.Context(), data, limits)
		if err != nil {
			var fault *csar.Error
			require.ErrorAs(t, err, &fault)
			require.NotEmpty(t, fault.Code)
			return
		}
		require.True(t, archive.Has(archive.Entry))
		sum := 0
		for _, name := range archive.Names() {
			require.True(t, fs.ValidPath(name), "%q", name)
			content, err := archive.File(name)
			if err == nil {
				require.LessOrEqual(t, len(content), limits.File)
				sum += len(content)
			}
		}
		require.LessOrEqual(t, sum, limits.Sum)
	})
}
