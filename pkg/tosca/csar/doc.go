// Package csar reads TOSCA archives: zip, tar and gzipped tar, told apart by
// their content.
//
// An archive is read in memory and never extracted. What is ambiguous (two
// entries of one name) or leads out of it (absolute paths, "..", links) is
// refused as a whole, before anything in it is looked at; so are sizes beyond
// the limits. Package csar knows nothing of templates: it says which file is the
// entry and hands out files.
//
//	archive, err := csar.Open(data, csar.DefaultLimits())
//	template, err := archive.File(archive.Entry)
package csar
