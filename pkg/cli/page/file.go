package page

import (
	"time"

	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/manifest"
)

// File is the content of a page that is a file.
type File struct {
	Application *Application // nil if there are only objects
	History     History
	Objects     []Object
}

// mostObjects is the maximum number of objects that a page shows field by field. With some thousand objects,
// the page would be too large for a browser.
const mostObjects = 200

// Partial is a note that a page shows only some of the objects field by field. Command shows another object.
type Partial struct {
	Shown, All int
	Command    string
}

// StatusFile returns an Application with its objects as one page, which needs no other files. If there are
// very many objects, it prefers those with something to report. An invalid Application has no objects.
func StatusFile(d files.Decision, view report.StatusView, program string, now time.Time) ([]byte, error) {
	a := applicationOf(d, view, program)
	f := File{Application: &a, History: historyOf(d, nil)}
	if a.Refused == "" {
		ids := files.IDsOf(d)
		if len(ids) > mostObjects {
			a.Partial = &Partial{mostObjects, len(ids), program + " explain " + d.Name + " KIND/NAME" + inNamespace(d) + " -o html"}
			ids = ids[:0]
			for _, r := range view.First(mostObjects, now) {
				ids = append(ids, report.ResourceID(r.Resource))
			}
		}
		f.add(d, now, ids...)
	}
	f.link()
	return f.html(d, a.title(), program, now)
}

// inNamespace returns the flag for a namespace other than the default one.
func inNamespace(d files.Decision) string {
	if d.Namespace == "default" {
		return ""
	}
	return " -n " + d.Namespace
}

// ObjectFile returns one object of an Application as a page. It fails only if a template fails.
func ObjectFile(d files.Decision, id manifest.ID, program string, now time.Time) ([]byte, error) {
	var f File
	f.add(d, now, id)
	return f.html(d, files.NameOf(id, d.Namespace)+" · "+d.Namespace+"/"+d.Name, program, now)
}

// add adds objects. In a file with several objects, the IDs of rows have the object as a prefix, so that they
// differ.
func (f *File) add(d files.Decision, now time.Time, ids ...manifest.ID) {
	entries := entriesOf(d, ids...)
	for _, id := range ids {
		o := objectOf(d, id, entries, now)
		if f.Application != nil {
			o.Prefix = o.Ref + ":"
		}
		f.Objects = append(f.Objects, o)
	}
}

// link sets the targets of the links in the lists of drift and of changes. If a field has no row, its link leads to the
// object. It removes links to objects that are not in the file, also from the tree.
func (f *File) link() {
	targets := map[string]bool{}
	for _, o := range f.Objects {
		targets[o.Ref] = true
		for id := range o.Details {
			targets[o.Prefix+id] = true
		}
	}
	for i := range f.Application.Tree {
		if b := &f.Application.Tree[i]; !targets[b.Ref] {
			b.Ref = ""
		}
	}
	for _, items := range [][]HistoryItem{f.Application.Drifted, f.Application.Recent, f.History.Items} {
		for i := range items {
			item := &items[i]
			if !targets[item.Ref] {
				item.Ref = ""
			}
			item.Anchor = item.Ref
			if row := item.Ref + ":" + rowID(item.Path); targets[row] {
				item.Anchor = row
			}
		}
	}
}

// html returns the page of the file, in which the style sheet and the script are embedded.
func (f *File) html(d files.Decision, title, program string, now time.Time) ([]byte, error) {
	crumbs := []crumb{{"Application " + d.Namespace + "/" + d.Name, ""}}
	return document{Title: title, Template: "file.html", Content: f, Crumbs: crumbs, Now: now, Program: program, Standalone: true}.html()
}
