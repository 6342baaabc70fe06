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
			ids = a.leaveOut(view.First(mostObjects, now))
		}
		f.add(d, now, ids...)
	}
	f.link()
	return f.html(d, a.title(), program, now)
}

// leaveOut removes all links of the tree except those to the first resources, and returns the IDs of these. A
// link to an object that is not in the file would lead nowhere.
func (a *Application) leaveOut(first []report.ResourceView) (shown []manifest.ID) {
	refs := map[string]bool{}
	for _, r := range first {
		shown = append(shown, report.ResourceID(r.Resource))
		refs[RefOf(report.ResourceID(r.Resource))] = true
	}
	for i := range a.Tree {
		if !refs[a.Tree[i].Ref] {
			a.Tree[i].Ref = ""
		}
	}
	return shown
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
// object.
func (f *File) link() {
	rows := map[string]bool{}
	for _, o := range f.Objects {
		for id := range o.Details {
			rows[o.Prefix+id] = true
		}
	}
	for _, items := range [][]HistoryItem{f.Application.Drifted, f.Application.Recent, f.History.Items} {
		for i := range items {
			items[i].Anchor = items[i].Ref
			if row := items[i].Ref + ":" + rowID(items[i].Path); rows[row] {
				items[i].Anchor = row
			}
		}
	}
}

// html returns the page of the file, in which the style sheet and the script are embedded.
func (f *File) html(d files.Decision, title, program string, now time.Time) ([]byte, error) {
	page := document{Title: title, Template: "file.html", Content: f, Now: now, Program: program, Standalone: true}
	page.Crumbs = []crumb{{"Application " + d.Namespace + "/" + d.Name, ""}}
	return page.html()
}
