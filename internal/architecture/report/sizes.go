package main

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// The largest numbers of fields and methods of a type, with those of the types that it embeds.
const (
	maxFields  = 25
	maxMethods = 40
)

// size is the number of fields and methods of a type, with those of the types of the module that it embeds.
type size struct{ fields, methods int }

// larger are the types that exceed the bounds. Their sizes may only fall, and no type may be added.
var larger = map[string]size{
	"pkg/cli/connection.Cluster":   {9, 56},
	"pkg/cli/connection.submitter": {11, 43},
	"pkg/cli/connection.view":      {15, 48},
	"pkg/cli/files.Decision":       {30, 64},
	"pkg/cli/report.Differences":   {37, 78},
	"pkg/cli/report.advisor":       {33, 73},
	"pkg/cli/setup.checker":        {12, 71},
	"pkg/delta.listCursor":         {28, 21},
	"pkg/observer.Schema":          {12, 41},
	"pkg/plan.Plan":                {15, 48},
	"pkg/plan.decider":             {6, 48},
	"pkg/plan.resource":            {40, 59},
	"pkg/plan.writeAhead":          {15, 53},
	"pkg/tosca.checker":            {27, 124},
	"pkg/tosca.completer":          {19, 62},
	"pkg/tosca.evaluator":          {24, 113},
	"pkg/tosca.library":            {17, 60},
	"pkg/tosca.loader":             {20, 45},
	"pkg/tosca.model":              {21, 82},
	"pkg/tosca.navigator":          {21, 88},
	"pkg/tosca.renderer":           {27, 120},
}

// addTypes measures the types of a package.
func (m *measures) addTypes(dir string, own *types.Package) {
	for _, name := range own.Scope().Names() {
		declared, isType := own.Scope().Lookup(name).(*types.TypeName)
		if !isType || declared.IsAlias() {
			continue
		}
		named, _ := declared.Type().(*types.Named)
		m.methods.add(dir+"."+name, named.NumMethods())
		s := sizeOf(named)
		if shape, isStruct := named.Underlying().(*types.Struct); isStruct && strings.Contains(strings.ToLower(name), "options") {
			s.fields = 0
		} else if isStruct {
			m.fields.add(dir+"."+name, shape.NumFields())
		}
		if s.fields > maxFields || s.methods > maxMethods {
			m.larger[dir+"."+name] = s
		}
	}
}

// sizeOf returns the size of a named type.
func sizeOf(t types.Type) (s size) {
	s.methods = types.NewMethodSet(types.NewPointer(t)).Len()
	if types.IsInterface(t) {
		s.methods = types.NewMethodSet(t).Len()
	}
	if shape, isStruct := t.Underlying().(*types.Struct); isStruct {
		s.fields = fieldsOf(shape)
	}
	return s
}

// fieldsOf returns the number of fields of a struct, with the fields of an embedded struct in its place.
func fieldsOf(shape *types.Struct) (n int) {
	for field := range shape.Fields() {
		t := field.Type()
		if pointer, is := t.(*types.Pointer); is {
			t = pointer.Elem()
		}
		if inner, isStruct := t.Underlying().(*types.Struct); isStruct && field.Embedded() {
			n += fieldsOf(inner)
			continue
		}
		n++
	}
	return n
}

// areSmall prints the types that exceed the bounds. It returns false if one of them is new or has grown.
func (m *measures) areSmall() bool {
	areSmall := true
	fmt.Printf("%-64s %6d (at most %d)\n", fmt.Sprintf("types above %d fields or %d methods, embedded ones included", maxFields, maxMethods), len(m.larger), len(larger))
	for _, name := range slices.Sorted(maps.Keys(m.larger)) {
		now, bound := m.larger[name], larger[name]
		fmt.Printf("  %-62s %6d (at most %d) and %d (at most %d)\n", name, now.fields, bound.fields, now.methods, bound.methods)
		areSmall = areSmall && now.fields <= bound.fields && now.methods <= bound.methods
	}
	return areSmall
}
