// Package csar reads TOSCA archives: zip, tar and gzipped tar, told apart by
// their content.
//
// An archive is read in memory and never extracted. It is refused as a whole, before
// any file is read, if it is ambiguous (two entries of one name), has paths out of it
// (absolute ones, "..", links), or exceeds the limits. Package csar knows nothing of
// templates: it finds the entry and returns files.
//
//	archive, err := csar.Open(ctx, data, csar.DefaultLimits())
//	template, err := archive.File(archive.Entry)
package csar
