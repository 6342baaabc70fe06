// Package csar reads TOSCA archives: zip, tar and gzipped tar, which it distinguishes by their content.
//
// An archive is read in memory and never extracted. It is rejected as a whole, before any file is read, if
//
//   - it is ambiguous: two entries have one name,
//   - a path leads out of it: an absolute path, "..", a link,
//   - it exceeds the limits.
//
// Every entry is checked, also those that are never read. Package csar does not read templates: it finds the entry
// template and returns files.
//
//	archive, err := csar.Open(ctx, data, csar.DefaultLimits())
//	template, err := archive.File(archive.Entry)
package csar
