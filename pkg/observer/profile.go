package observer

import (
	"errors"
	"fmt"
	"slices"
)

// ProfilePath is a path that a profile says of a resource.
// Source: docs/profiles.md.
type ProfilePath struct {
	Path *FieldPath
	Free bool
	// Profile is its name, and Because why it speaks of this resource, if that is for more
	// than its manifest.
	Profile, Because string
}

// profileTarget is a place that a path names: one of a profile, or with by nil of the user.
type profileTarget struct {
	path string
	free bool
	by   *ProfilePath
}

// profileRules are the paths of profiles in the order in which they are carried out. They
// are as those of one entry, whichever profile they are of. Where the user names all that is
// held, they say nothing.
func (f *Fields) profileRules() []fieldRule {
	if !f.FollowsManifest() {
		return nil
	}
	rules := make([]fieldRule, len(f.Profiles))
	for i := range f.Profiles {
		rules[i] = fieldRule{path: f.Profiles[i].Path, free: f.Profiles[i].Free, item: i, by: &f.Profiles[i]}
	}
	return byPrecedence(rules)
}

// trace remembers who has spoken of which place, for those who ask whose wish it is.
func (c *fieldCompiler) trace() {
	if len(c.fields.Profiles) == 0 {
		return
	}
	for _, path := range c.named {
		c.profiled = append(c.profiled, profileTarget{path.String(), c.rule.free, c.rule.by})
	}
}

// judgeProfile says what is wrong with a path of a profile that was carried out. That it
// names nothing here is nothing wrong: a profile is for many resources.
func (c *fieldCompiler) judgeProfile() {
	by := c.rule.by
	var wrong wrongPath
	if errors.As(c.why, &wrong) {
		c.warnOf(by, fmt.Sprintf("%s %s; the path is left out", shorten(by.Path.text), c.why))
		return
	}
	for _, path := range c.learns {
		c.more = c.more || path != nil
	}
	if !c.rule.free {
		return
	}
	for _, path := range c.named {
		text := path.String()
		other := slices.IndexFunc(c.profiled, func(p profileTarget) bool { return p.path == text && !p.free && p.by.Profile != by.Profile })
		if other >= 0 {
			c.warnOf(by, fmt.Sprintf("%s is free, though HoldProfile %s holds it: free prevails", shorten(text), c.profiled[other].by.Profile))
		}
	}
}

func (c *fieldCompiler) warnOf(by *ProfilePath, text string) {
	c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("%s: HoldProfile %s: %s", c.object.ID, by.Profile, text))
}

// ProfileOf is the profile's path that decides about a field, nil if none does: then it is
// as the manifest, or the user, has it.
func (e *Schema) ProfileOf(path string) *ProfilePath {
	for _, p := range slices.Backward(e.profiled) {
		if IsUnder(path, p.path) {
			return p.by
		}
	}
	return nil
}

// Profiles are the names of the profiles that decide about any field, in order.
func (e *Schema) Profiles() (names []string) {
	for _, p := range e.profiled {
		if by := e.ProfileOf(p.path); by != nil && by == p.by {
			names = append(names, by.Profile)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckProfilePath refuses a path that is none for any resource.
func (p *FieldPath) CheckProfilePath() error {
	var path *Path
	switch name := p.steps[0].name; {
	case p.isAll():
		return errors.New("* is all of a manifest: a profile names fields")
	case identifies(path, name):
		return fmt.Errorf("%s identifies a resource: it is neither held nor free", name)
	case watched(name):
		return fmt.Errorf("%s is only watched, and never written", name)
	case name == "metadata" && len(p.steps) == 1:
		return errors.New("metadata is not said as a whole: name fields of it, such as metadata.annotations[example.com/*]")
	case name == "metadata" && identifies(path.Field(name), p.steps[1].name):
		return fmt.Errorf("metadata.%s identifies a resource, or is the API server's: it is neither held nor free", p.steps[1].name)
	}
	return nil
}
