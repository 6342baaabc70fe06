package page

import (
	"time"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/manifest"
)

// File is what a file is about.
type File struct {
	Application *Application // nil: only objects
	History     History
	Objects     []Object
}

// StatusFile is an Application with all its objects as one page, which needs nothing
// beside it.
func StatusFile(d files.Decision, view report.StatusView, program string, now time.Time) ([]byte, error) {
	a := applicationOf(d, view, program)
	f := File{Application: &a, History: historyOf(d, nil)}
	if a.Refused == "" {
		for _, change := range d.Changes {
			f.add(d, change.ID, now)
		}
	}
	return f.html(d, a.title(), program, now)
}

// ObjectFile is one object of an Application as a page.
func ObjectFile(d files.Decision, id manifest.ID, program string, now time.Time) ([]byte, error) {
	var f File
	f.add(d, id, now)
	return f.html(d, files.NameOf(id, d.Namespace)+" · "+d.Namespace+"/"+d.Name, program, now)
}

func (f *File) add(d files.Decision, id manifest.ID, now time.Time) {
	o := objectOf(d, id, entriesOf(d), now)
	if f.Application != nil {
		o.Prefix = o.Ref + ":"
	}
	f.Objects = append(f.Objects, o)
}

func (f *File) html(d files.Decision, title, program string, now time.Time) ([]byte, error) {
	page := document{Title: title, Template: "file.html", Content: f, Now: now, Program: program, Standalone: true}
	page.Crumbs = []crumb{{"Application " + d.Namespace + "/" + d.Name, ""}}
	return page.html()
}
