package page

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/health"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Object is the page of one resource of an Application, line by line.
type Object struct {
	Ref        string // its address below the address of the Application
	Prefix     string // of the IDs of its rows, if a page has several objects
	Name       string
	APIVersion string
	Health     Badge
	// Schema describes the source of its observer schema.
	Schema string
	// Entry is that schema as YAML; nil for a resource without one.
	Entry []EntryLine
	// Remarks are about the whole object.
	Remarks []string
	Legend  []LegendEntry
	// Chunks are its lines in pieces. The browser lays out a piece only when it is visible.
	Chunks []Chunk
	// Differs is true if a desired value is shown next to a live value.
	Differs bool
	// Unset are observed fields without any value.
	Unset []Row
	// Details contains the details of each field by the ID of its row. The page shows those of the selected field.
	Details map[string]Detail
	// Target contains the arguments of a command before the path: NAME KIND/NAME. Flags follows the path.
	Target, Flags string
}

// EntryLine is a line of an observer schema with the JSON Pointer of its value.
type EntryLine struct{ Text, Pointer string }

// LegendEntry is a state with the number of fields in it.
type LegendEntry struct {
	Badge
	Count int
	First string // the ID of its first row
}

// Chunk is a group of rows. Lines is the number of lines in it.
type Chunk struct {
	Rows  []Row
	Lines int
}

// Row is a group of lines that belong together.
type Row struct {
	ID    string // "" for lines without a field
	Badge Badge
	Text  string
	// Desired is shown next to a field with another live value. Absent is true if there is no live value;
	// Text is then a note about that.
	Desired string
	Absent  bool
	Writer  Writer
}

// Writer is the last writer of a field, with the time. The name is empty if it is not known.
type Writer struct {
	Name string
	At   time.Time
}

// Detail is the explanation of one field. The text of an absent value is empty.
type Detail struct {
	Path     string `json:"path"`
	Class    string `json:"class"`
	State    string `json:"state"`
	Why      string `json:"why"`
	Live     string `json:"live,omitempty"`
	Desired  string `json:"desired,omitempty"`
	Manifest string `json:"manifest,omitempty"`
	Writer   string `json:"writer,omitempty"`
	At       string `json:"at,omitempty"`
	// Entry is the number of the line in the observer schema that names the field, counted from 1.
	Entry int `json:"entry,omitempty"`
	// Verb is the command that changes the state of the field. Quote is the path, quoted for a shell.
	Verb  string `json:"verb,omitempty"`
	Quote string `json:"quote,omitempty"`
}

// objectOf returns the page of a resource of the plan. entries contains the schemas by resource; see entriesOf.
func objectOf(d files.Decision, id manifest.ID, entries map[manifest.ID][]EntryLine, now time.Time) Object {
	e, _ := explain.Resource(d.Plan, id, false)
	foreign := e.Change.Problem != nil && v1alpha1.InfoForReason(e.Change.Problem.Reason).Foreign
	o := Object{
		Ref: RefOf(id), Name: files.NameOf(id, d.Namespace), APIVersion: e.Change.APIVersion, Schema: report.SchemaText(e),
		Remarks: remarks(e), Target: d.Name + " " + files.ArgumentOf(id, false), Details: map[string]Detail{}, Health: healthOf(d, id),
		Entry: entries[id], Flags: inNamespace(d),
	}
	shown, unset := blocks(visibleObject(d, id, e.Change.APIVersion), e.Fields)
	v := objectRows{Object: &o, foreign: foreign, owned: metav1.GetControllerOf(d.Application) != nil, now: now, entry: numbered(o.Entry)}
	for _, b := range shown {
		v.add(b)
	}
	for _, f := range unset {
		o.Unset = append(o.Unset, v.row(block{[]string{f.Path}, f}))
	}
	v.legend(e.Fields)
	return o
}

// RefOf returns a resource in the form of an address, KIND.GROUP/NAMESPACE/NAME or KIND.GROUP/NAME. The core group has
// no GROUP.
func RefOf(id manifest.ID) string {
	kind := strings.ToLower(id.Kind)
	if id.Group != "" {
		kind += "." + id.Group
	}
	if id.Namespace != "" {
		kind += "/" + id.Namespace
	}
	return kind + "/" + id.Name
}

// findRef returns the resource with a reference of RefOf. For an address that a user has typed, it finds the resource like
// the commands, for which a kind without group can be of any group.
func findRef(ref string, ids []manifest.ID) (manifest.ID, error) {
	if at := slices.IndexFunc(ids, func(id manifest.ID) bool { return RefOf(id) == ref }); at >= 0 {
		return ids[at], nil
	}
	return files.FindResource(ref, ids)
}

// remarks returns texts about the whole object: its problem, or that it does not exist.
func remarks(e explain.Explanation) (texts []string) {
	if e.Change.Problem != nil {
		return []string{e.Change.Problem.Reason + ": " + e.Change.Problem.Error()}
	}
	if e.Missing {
		return []string{"The object does not exist."}
	}
	return nil
}

// healthOf returns the badge of the health of the live object.
func healthOf(d files.Decision, id manifest.ID) Badge {
	if d.Live[id] == nil {
		return healthBadge(health.NotFound, true)
	}
	state, _ := health.Compute(d.Application, d.Live[id])
	return healthBadge(state, isCorrected(d.Application))
}

// entriesOf returns the schemas of some resources from the observer schema, line by line. One call for all
// resources reads the observer schema once.
func entriesOf(d files.Decision, of ...manifest.ID) map[manifest.ID][]EntryLine {
	entries := map[manifest.ID][]EntryLine{}
	for _, id := range of {
		entries[id] = nil
	}
	for _, content := range explain.Schemas(d.Plan) {
		id, ok := manifest.Identify(content, d.Namespace, d.Kinds)
		if _, asked := entries[id]; ok && asked {
			for _, line := range linesOf(content) {
				entries[id] = append(entries[id], EntryLine{line.text, line.pointer})
			}
		}
	}
	return entries
}

// visibleObject returns a copy of the live object without secret values and without managedFields. If there is
// no live object, it returns only the fields that identify it.
func visibleObject(d files.Decision, id manifest.ID, apiVersion string) map[string]any {
	live := d.Live[id]
	if live == nil {
		metadata := map[string]any{"name": id.Name}
		if id.Namespace != "" {
			metadata["namespace"] = id.Namespace
		}
		return map[string]any{"apiVersion": apiVersion, "kind": id.Kind, "metadata": metadata}
	}
	shown := runtime.DeepCopyJSON(manifest.Redact(live))
	if manifest.HasManifests(id.GroupKind()) {
		files.MaskApplication(shown)
	}
	unstructured.RemoveNestedField(shown, "metadata", "managedFields") // the page shows the writers next to the lines
	return shown
}

// objectRows is a builder of the rows of an Object from blocks.
type objectRows struct {
	*Object

	// foreign is true if the object has another owner, and this Application holds no field of it.
	foreign bool
	owned   bool           // another object sets the spec of the Application
	entry   map[string]int // line numbers of the schema by JSON Pointer
	now     time.Time
}

// linesPerChunk is about two screens. The style sheet depends on it.
const linesPerChunk = 100

// add adds a row to the last chunk, or to a new one.
func (v *objectRows) add(b block) {
	if n := len(v.Chunks); n == 0 || v.Chunks[n-1].Lines >= linesPerChunk {
		v.Chunks = append(v.Chunks, Chunk{})
	}
	chunk := &v.Chunks[len(v.Chunks)-1]
	chunk.Rows = append(chunk.Rows, v.row(b))
	chunk.Lines += len(b.text)
}

// row returns the row of a block, and records the details of its field.
func (v *objectRows) row(b block) Row {
	r := Row{Text: strings.Join(b.text, "\n")}
	if b.field == nil {
		return r
	}
	f := *b.field
	r.ID, r.Badge = v.uniqueID(f.Path), fieldBadge(f, v.foreign)
	r.Writer = Writer{report.WriterName(f.Writer), f.Writer.At}
	if r.Absent = !f.Live.Set; r.Absent && (f.Desired.Set || f.Manifest.Set) {
		indent := len(r.Text) - len(strings.TrimLeft(r.Text, " "))
		r.Text, r.Desired = strings.Repeat(" ", indent)+"(absent)", r.Text
	}
	if f.Drift != "" && f.Live.Set || f.State == explain.Contested && !f.Live.Equal(f.Desired) {
		r.Desired = wantedLines(f, b.text[0])
	}
	v.Differs = v.Differs || r.Desired != ""
	v.Details[r.ID] = v.detail(f, r)
	return r
}

// rowID returns the ID of the row of a field.
func rowID(path string) string { return strings.ReplaceAll(path, " ", "_") }

// uniqueID returns an ID for a path. This is the path itself, unless another field has the same path, which
// happens only in a list without keys.
func (v *objectRows) uniqueID(path string) string {
	first := rowID(path)
	id := first
	for n := 2; ; n++ {
		if _, taken := v.Details[id]; !taken {
			return id
		}
		id = first + "~" + strconv.Itoa(n)
	}
}

// wantedLines returns the desired value as YAML, indented like the live value. first is the first line of the
// live value; it shows whether the field begins a list element.
func wantedLines(f explain.Field, first string) string {
	if !f.Desired.Set {
		return "(removed)"
	}
	trimmed := strings.TrimLeft(first, " ")
	indent := strings.Repeat(" ", len(first)-len(trimmed))
	var text string
	switch path := f.LivePath(); {
	case path.IsElement():
		text = terminal.Block(delta.Value{Set: true, Any: []any{f.Desired.Any}})
	case strings.HasPrefix(trimmed, "- "):
		indent += "  "
		fallthrough
	default:
		text = terminal.ObjectYAML(map[string]any{path.Name(): f.Desired.Any})
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range lines {
		lines[i] = indent + terminal.Visible(lines[i])
	}
	return strings.Join(lines, "\n")
}

// detail returns the explanation of a field. It offers a command only if this user can change the state of the
// field with it.
func (v *objectRows) detail(f explain.Field, r Row) Detail {
	state := string(f.State)
	if r.Badge.Word != state {
		state += ", " + r.Badge.Word
	}
	d := Detail{
		Path: f.Path, Class: r.Badge.Class, State: state, Why: report.FieldReason(f, v.now),
		Live: valueText(f.Live), Desired: valueText(f.Desired), Manifest: valueText(f.Manifest), Writer: r.Writer.Name,
		Quote: report.ShellPath(f.Path), Entry: entryLine(v.entry, f),
	}
	if !f.Writer.At.IsZero() {
		d.At = f.Writer.At.UTC().Format(time.RFC3339)
	}
	switch f.State {
	case explain.Free:
		d.Verb = "hold"
	case explain.Held, explain.Learned, explain.Accepted, explain.Contested, explain.Allowed, explain.Pushed, explain.Absent:
		d.Verb = "free"
	case explain.Reported, explain.Mark, explain.Removed, explain.Restored, explain.Claimed:
	}
	if v.foreign || v.owned || f.IsStatus() {
		d.Verb = ""
	}
	return d
}

// numbered returns the first line number of each JSON Pointer in a schema, counted from 1.
func numbered(entry []EntryLine) map[string]int {
	numbers := map[string]int{}
	for i, line := range entry {
		if numbers[line.Pointer] == 0 {
			numbers[line.Pointer] = i + 1
		}
	}
	return numbers
}

// entryLine returns the number of the line that names an observed field or its nearest parent; 0 if no line
// does. entry contains the line numbers by JSON Pointer. Elements of a schema list are numbered as in the desired
// list.
func entryLine(entry map[string]int, f explain.Field) (number int) {
	if f.State == explain.Free || f.State == explain.Mark {
		return 0
	}
	pointer := ""
	for _, step := range f.LivePath().Chain() {
		if step.IsElement() {
			pointer += "/" + strconv.Itoa(step.DesiredIndex())
		} else {
			pointer += "/" + escaped.Replace(step.Name())
		}
		number = cmp.Or(entry[pointer], number)
	}
	return number
}

// valueText returns a value as the inspector shows it. It truncates a very long value. It returns "" for an
// absent value.
func valueText(v delta.Value) string {
	if !v.Set {
		return ""
	}
	text, short := terminal.Inline(v)
	if !short || len(text) > 80 {
		text = strings.TrimRight(terminal.Block(v), "\n")
	}
	const most = 2000
	if text = terminal.Visible(text); len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "\n…"
	}
	return text
}

// legend adds the states that occur, with the number of fields in each.
func (v *objectRows) legend(fields []explain.Field) {
	counts := map[string]int{}
	for _, f := range fields {
		if f.IsStatus() {
			continue // the status is long, and never held
		}
		counts[fieldBadge(f, v.foreign).Class]++
	}
	first := map[string]string{}
	for _, chunk := range v.Chunks {
		for _, r := range chunk.Rows {
			if first[r.Badge.Class] == "" {
				first[r.Badge.Class] = r.ID
			}
		}
	}
	for _, badge := range badges {
		if counts[badge.Class] > 0 {
			v.Legend = append(v.Legend, LegendEntry{badge, counts[badge.Class], first[badge.Class]})
		}
	}
}
