package files

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// refusal says why an Application cannot be used, each mistake with the line and
// column that it is on.
func refusal(document manifest.Document, problem *plan.Problem, faults []error) error {
	if len(faults) == 0 {
		faults = []error{problem}
	}
	placed := make([]*manifest.Error, len(faults))
	for i, fault := range faults {
		placed[i] = FaultAt(document, placeOf(fault), fault.Error())
	}
	slices.SortStableFunc(placed, byPlace)
	all := make([]error, len(placed))
	for i, fault := range placed {
		all[i] = fmt.Errorf("%s: %w", problem.Reason, fault)
	}
	return errors.Join(all...)
}

// placeOf is the path, in an Application, of the field that a fault is in.
func placeOf(fault error) manifest.Path {
	var ofManifest *manifest.Fault
	if errors.As(fault, &ofManifest) {
		return append(manifest.Path{"spec", "manifest", ofManifest.Position}, ofManifest.Path...)
	}
	var ofSchema *observer.Fault
	if errors.As(fault, &ofSchema) {
		return append(manifest.Path{"spec", "observerSchema", ofSchema.Entry}, ParsePath(ofSchema.Path)...)
	}
	var ofSource *sourceFault
	if errors.As(fault, &ofSource) {
		return ofSource.path
	}
	return nil
}

// ParsePath reads what observer.Path prints: spec.ports[0].port,
// metadata.labels['app.kubernetes.io/name']. It stops at what it cannot read.
func ParsePath(text string) manifest.Path {
	var path manifest.Path
	for text != "" {
		var step any
		var ok bool
		switch {
		case strings.HasPrefix(text, "['"):
			step, text, ok = quotedKey(text[2:])
		case text[0] == '[':
			step, text, ok = index(text[1:])
		default:
			text = strings.TrimPrefix(text, ".")
			end := strings.IndexAny(text+".", ".[")
			step, text, ok = text[:end], text[end:], end > 0
		}
		if !ok {
			break
		}
		path = append(path, step)
	}
	return path
}

// quotedKey reads key'] and returns what comes after it.
func quotedKey(text string) (key any, rest string, ok bool) {
	text = strings.ReplaceAll(text, `\'`, "\x00") // no key of a manifest has that
	name, rest, ok := strings.Cut(text, "']")
	return strings.ReplaceAll(name, "\x00", "'"), strings.ReplaceAll(rest, "\x00", `\'`), ok
}

// index reads 0] and returns what comes after it.
func index(text string) (position any, rest string, ok bool) {
	number, rest, ok := strings.Cut(text, "]")
	n, err := strconv.Atoi(number)
	return n, rest, ok && err == nil
}
