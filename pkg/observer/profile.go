package observer

import (
	"errors"
	"fmt"
	"slices"
)

// profileRules returns the paths of profiles in the order in which they are applied. The precedence does
// not depend on the profile. It returns none if the user lists all held fields.
func (f *Fields) profileRules() []fieldRule {
	if !f.FollowsManifest() {
		return nil
	}
	rules := make([]fieldRule, len(f.Profiles))
	for i := range f.Profiles {
		rules[i] = fieldRule{path: f.Profiles[i].Path, item: i, by: &f.Profiles[i]}
		if f.Profiles[i].Free {
			rules[i].freed = ReleasedFree
		}
	}
	return byPrecedence(rules)
}

// trace records which path matched which field, for ProfileOf and Released. Paths of the user are recorded for ProfileOf,
// too, because they override those of profiles.
func (c *fieldCompiler) trace() {
	for _, path := range c.named {
		if len(c.fields.Profiles) > 0 {
			c.profiled = append(c.profiled, profileTarget{path.String(), c.rule.isFree(), c.rule.by})
		}
		if c.rule.isFree() {
			c.released = append(c.released, releasedPath{path.String(), c.rule.freed})
		}
	}
}

// judgeProfile reports errors and warnings for the path of a profile that was just applied. A path that
// matches no field is valid, because a profile applies to many resources.
func (c *fieldCompiler) judgeProfile() {
	by := c.rule.by
	if _, isWrong := errors.AsType[wrongPath](c.why); isWrong {
		c.warnOf(by, fmt.Sprintf("%s %s; the path is ignored", shorten(by.Path.text), c.why))
		return
	}
	// A held field that the manifest lacks makes the schema more than a default schema: it learns.
	for _, path := range c.learns {
		c.more = c.more || path != nil
	}
	if !c.rule.isFree() {
		return
	}
	for _, path := range c.named {
		text := path.String()
		other := slices.IndexFunc(c.profiled, func(p profileTarget) bool { return p.path == text && !p.free && p.by.Profile != by.Profile })
		if other >= 0 {
			c.warnOf(by, fmt.Sprintf("%s is free, although HoldProfile %s holds it: free has precedence", shorten(text), c.profiled[other].by.Profile))
		}
	}
}

// warnOf adds a warning that names the object and the profile.
func (c *fieldCompiler) warnOf(by *ProfilePath, text string) {
	c.out.Warnings = append(c.out.Warnings, fmt.Sprintf("%s: HoldProfile %s: %s", c.object.ID, by.Profile, text))
}

// ProfileOf returns the profile's path that decides about a field. It returns nil if the manifest or the
// user decides.
func (e *schemaSource) ProfileOf(path string) *ProfilePath {
	for _, p := range slices.Backward(e.profiled) {
		if IsUnder(path, p.path) {
			return p.by
		}
	}
	return nil
}

// Profiles returns the names of the profiles that decide about any field, sorted and without duplicates.
func (e *schemaSource) Profiles() (names []string) {
	for _, p := range e.profiled {
		// A later path may have overridden this one.
		if by := e.ProfileOf(p.path); by != nil && by == p.by {
			names = append(names, by.Profile)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// CheckProfilePath returns an error for a path that is invalid for every resource.
func (p *FieldPath) CheckProfilePath() error {
	var path *Path
	root := p.steps[0]
	switch name := root.key(); {
	case p.isAll():
		return errors.New("* matches the entire manifest: write single fields")
	case root.isPattern() && (root.matches("metadata") || root.matches("status")):
		return fmt.Errorf("%s matches metadata or status: write single fields", root)
	case identifies(path, name):
		return fmt.Errorf("%s identifies a resource, and can be neither held nor free", name)
	case isStatus(name):
		return fmt.Errorf("%s is report-only, and never written", name)
	case name == "metadata" && len(p.steps) == 1:
		return errors.New("metadata cannot be used as one field: write fields below it, such as metadata.annotations[example.com/*]")
	case name == "metadata" && identifies(path.Field(name), p.steps[1].key()):
		return fmt.Errorf("metadata.%s identifies a resource or is set by the API server, and can be neither held nor free", p.steps[1].key())
	}
	return nil
}
