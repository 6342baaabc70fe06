package observer

import (
	"fmt"
	"strings"
)

// Fields is an item of spec.fields: the fields of some resources to hold. Compile reads it and does not change it.
// Package intent makes it of the API type, with one Fields for each item. An item can match many resources, so it is
// compiled once for each of them.
type Fields struct {
	// Position is the index in spec.fields.
	Position int
	// APIVersion, Kind, Namespace and Name select the resources. APIVersion and Namespace can be empty;
	// Name can have wildcards.
	APIVersion, Kind, Namespace, Name string
	// Hold and Free are the paths; an invalid path is nil. Without OnlyHold, all fields that the manifest
	// sets are also held.
	Hold, Free []*FieldPath
	// Leave and Restore are also paths of free fields. They specify what happens when these fields are
	// released.
	Leave, Restore []*FieldPath
	// OnlyHold is true if only the fields in Hold are held. It has no effect if Hold contains AllFields.
	OnlyHold bool
	// Profiles lists the rules of the cluster administrator. They are applied before the paths of the item,
	// to all fields that the manifest sets.
	Profiles []ProfilePath
	// said maps an index in Hold to its rule, type or closed map: see AddRule. It is nil without any.
	said map[int]*Node
}

// FieldPathError is one validation error in spec.fields. It is comparable in List and Item to the YAML of the item, so
// the command line finds its line.
type FieldPathError struct {
	// Entry is the index in spec.fields.
	Entry int
	// List is hold, free, leave or restore, and Item is the index in it. List is empty if the error
	// concerns the whole item.
	List string
	Item int
	// Name is the kind and name of the resources.
	Name    string
	Message string
}

// Error returns "fields[0].hold[1] (Deployment web): …".
func (f *FieldPathError) Error() string {
	text := fmt.Sprintf("fields[%d]", f.Entry)
	if f.List != "" {
		text += fmt.Sprintf(".%s[%d]", f.List, f.Item)
	}
	return text + " (" + shorten(f.Name) + "): " + f.Message
}

// NoEntry is the Position for a resource that has no item in spec.fields.
const NoEntry = -1

// Fault returns a validation error of the item, or of one of its paths.
func (f *Fields) Fault(list string, item int, format string, args ...any) *FieldPathError {
	return &FieldPathError{Entry: f.Position, List: list, Item: item, Name: strings.TrimSpace(f.Kind + " " + f.Name), Message: fmt.Sprintf(format, args...)}
}

// ProfilePath is a path of a HoldProfile that applies to a resource. All matching rules of all profiles contribute
// paths, in the order of the profiles' names.
// Source: docs/profiles.md.
type ProfilePath struct {
	// Path is valid for every resource: see CheckProfilePath.
	Path *FieldPath
	// Free is true if the profile releases the field, and false if it holds it.
	Free bool
	// Profile is the name of the profile. Because is the reason why it applies to this resource, if that is
	// not only the manifest.
	Profile, Because string
}

// profileTarget is a field that a path matches. path is in the syntax of Path.String. by is the path of a profile, or
// nil for a path of the user. The list of targets is in the order in which the paths were applied, so the last one that
// matches decides.
type profileTarget struct {
	path string
	free bool
	by   *ProfilePath
}

// releasedPath is a field that a path of an item releases. path is in the syntax of Path.String.
type releasedPath struct {
	path string
	as   Released
}

// Released specifies what happens to fields that an item of spec.fields releases. They follow
// spec.onRelease, keep their live values, or get their original values.
type Released string

// The lists in an item of spec.fields that release fields.
const (
	ReleasedFree    Released = "free"
	ReleasedLeave   Released = "leave"
	ReleasedRestore Released = "restore"
)
