package main

import (
	"fmt"
	"go/ast"
	"go/types"
	"path/filepath"
	"slices"
)

// policyFiles are the files that may ask for the relation of an Application and an object: the table, and the functions
// that choose a row.
var policyFiles = []string{
	filepath.Join("pkg", "claim", "policy.go"), filepath.Join("pkg", "claim", "owner.go"), filepath.Join("pkg", "plan", "ownership.go"),
}

// policy is the type of a row of the table. relationTypes are the types of the values that choose it.
const policy = module + "pkg/claim.Policy"

var relationTypes = []string{module + "pkg/claim.Target", module + "pkg/api/v1alpha1.Ownership", module + "pkg/api/v1alpha1.ObjectOrigin"}

// addRelated counts the lines outside of the policy files that ask for the relation, by their types and not by names.
func (m *measures) addRelated(p *goPackage) {
	lines := map[string]bool{}
	add := func(node ast.Node) {
		if at := p.set.Position(node.Pos()); !slices.Contains(policyFiles, at.Filename) {
			lines[fmt.Sprint(at.Filename, ":", at.Line)] = true
		}
	}
	for _, file := range p.files {
		ast.Inspect(file, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.SelectorExpr:
				if value, is := p.info.Types[node.X]; is && isOf(value.Type, policy) {
					add(node) // a field or method of the policy
				}
			case *ast.CallExpr:
				if to, is := p.info.Types[node.Fun]; is && to.IsType() && isOf(to.Type, relationTypes...) {
					add(node) // a conversion
				}
			case *ast.Ident:
				if asksRelation(p.info.Uses[node]) {
					add(node)
				}
			}
			return true
		})
	}
	m.related += len(lines)
}

// asksRelation reports whether an object is a constant or field of the types of the relation, or a function that asks
// for it: those of package claim that return whether an Application owns or has adopted an object, and those that
// return a policy.
func asksRelation(object types.Object) bool {
	switch object := object.(type) {
	case *types.Const:
		return isOf(object.Type(), relationTypes...)
	case *types.Var:
		return object.IsField() && isOf(object.Type(), relationTypes...)
	case *types.Func:
		isAsked := object.Name() == "IsOwned" || object.Name() == "WasAdopted"
		results := object.Signature().Results()
		return isAsked && object.Pkg().Path() == module+"pkg/claim" || results.Len() > 0 && isOf(results.At(0).Type(), policy)
	}
	return false
}

// isOf reports whether a type, or the type that it points to, has one of these names.
func isOf(t types.Type, names ...string) bool {
	if pointer, is := t.(*types.Pointer); is {
		t = pointer.Elem()
	}
	return t != nil && slices.Contains(names, t.String())
}
