package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"holdfast.dev/holdfast/pkg/cli/terminal"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed assets/page.css
var style string

//go:embed assets/page.js
var script string

//go:embed assets/icon.svg
var icon string

// morph is a script that changes the page into its new version, and keeps unchanged parts. For its origin,
// see assets/README.md.
//
//go:embed assets/idiomorph-0.8.0.min.js
var morph string

// assets are the files that pages refer to.
var assets = map[string]struct{ text, contentType string }{
	"page.css":     {style, "text/css; charset=utf-8"},
	"page.js":      {script, "text/javascript; charset=utf-8"},
	"idiomorph.js": {morph, "text/javascript; charset=utf-8"},
	"icon.svg":     {icon, "image/svg+xml"},
}

// document is a complete page.
type document struct {
	Title string
	// Template is the name of the template for Content.
	Template string
	Content  any
	// Crumbs are the links to the parents of the page, and its name.
	Crumbs []crumb
	// Watched is the Application whose changes update the page, "*" for all, or "" for none.
	Watched string
	// Revision is the revision of the store that the page shows at least. The script asks for later changes.
	Revision int64
	Now      time.Time
	// Standalone is true for a page that is a file and loads no other files.
	Standalone bool
	// Program is the name by which the user called this program.
	Program string
}

// crumb is a link in the head of a page. An empty Link means the page itself.
type crumb struct{ Text, Link string }

// Style returns the style sheet, which a file contains.
func (document) Style() template.CSS { return template.CSS(style) } //nolint:gosec // it is embedded

// Script returns the script, which a file contains.
func (document) Script() template.JS { return template.JS(script) } //nolint:gosec // it is embedded

// Policy returns the policy for a file: the browser may load and run only the content of the file.
func (document) Policy() string {
	return "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + digest(style) + "; script-src " + digest(script)
}

// digest returns the source of an embedded style or script in a Content-Security-Policy.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pages are the parsed templates. A malformed template panics at the start of the program.
var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"ago":     terminal.Ago,
	"stamp":   func(at time.Time) string { return at.UTC().Format(time.RFC3339) },
	"visible": terminal.Visible,
	// A name can have characters that end the path of an address, such as ?.
	"address": func(ref string) string { return (&url.URL{Path: ref}).EscapedPath() },
	"row":     rowID,
	"on":      func(context, value any) pair { return pair{context, value} },
	"levels":  func(n int) []struct{} { return make([]struct{}, n) },
}).ParseFS(templates, "templates/*.html"))

// pair is the data of a template: the page, and the value to show.
type pair struct{ Page, It any }

// html returns the page. It renders the page into memory first, so that nothing is written after an error.
func (d document) html() ([]byte, error) {
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "page.html", d); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Body returns the content of the page.
func (d document) Body() (template.HTML, error) {
	var b bytes.Buffer
	err := pages.ExecuteTemplate(&b, d.Template, pair{d, d.Content})
	return template.HTML(b.String()), err //nolint:gosec // html/template has written it
}

// write responds with the page.
func (d document) write(w http.ResponseWriter, status int) {
	text, err := d.html()
	if err != nil {
		http.Error(w, "cannot render the page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}
