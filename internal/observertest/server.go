package observertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"holdfast.dev/holdfast/pkg/observer"
)

// Server simulates how an API server changes the objects that it receives.
type Server struct {
	// Drops is a field that it does not know, Adds one that it has a default for.
	Drops, Adds string
	// Injects is a list that gets one more element, at its front or its end.
	Injects string
	Front   bool
	// Typed is true if its schema defines which lists have keys and which are sets.
	Typed bool
}

// DrawServer draws a Server.
func DrawServer(t *rapid.T) Server {
	s := Server{
		Drops:   rapid.SampledFrom([]string{"", "v2"}).Draw(t, "drops"),
		Adds:    rapid.SampledFrom([]string{"", "v1"}).Draw(t, "adds"),
		Injects: rapid.SampledFrom([]string{"", "k2", "s1", "l2"}).Draw(t, "injects"),
		Typed:   rapid.Bool().Draw(t, "typed"),
	}
	// If all elements have moved and none has a key, they cannot be identified.
	s.Front = s.Typed && s.Injects != "l2" && rapid.Bool().Draw(t, "front")
	return s
}

// Serve changes a value as the server does. It is idempotent.
func (s Server) Serve(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v[s.Adds]; s.Adds != "" && !has {
			v[s.Adds] = "default"
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if name == s.Drops {
				delete(v, name)
				continue
			}
			if l, ok := v[name].([]any); ok && name == s.Injects {
				v[name] = s.inject(l)
			}
			s.Serve(v[name])
		}
	case []any:
		for _, child := range v {
			s.Serve(child)
		}
	}
}

func (s Server) inject(l []any) []any {
	var element any = "injected"
	if s.Injects[0] == 'k' {
		element = map[string]any{"name": "injected"}
	}
	switch {
	case len(l) == 0, slices.ContainsFunc(l, func(e any) bool { return observer.Covers(e, element) }):
		return l
	case s.Front:
		return slices.Insert(slices.Clone(l), 0, element)
	}
	return append(slices.Clone(l), element)
}

// Plausible converts a value to one that a manifest of the kind can have: fields keep their type, and
// elements of list-maps have unique keys.
func (s Server) Plausible(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for child, value := range v {
			_, isMap := value.(map[string]any)
			list, isList := value.([]any)
			wantsList := strings.ContainsRune("lks", rune(child[0]))
			if value == nil || isMap != (child[0] == 'm') || isList != wantsList {
				continue
			}
			if isList && len(list) == 0 && s.Injects != "" {
				continue // the injected element remains in a list that is emptied
			}
			out[child] = s.Plausible(child, value)
		}
		return out
	case []any:
		return s.plausibleList(name, v)
	}
	return v
}

// plausibleList implements Plausible for a list: the elements of list-maps have unique keys.
func (s Server) plausibleList(name string, list []any) []any {
	var out []any
	seen := map[string]bool{}
	for _, element := range list {
		m, isMap := element.(map[string]any)
		if identity := IdentityOf(element); name[0] != 'l' {
			if isMap != (name[0] == 'k') || isMap && m["name"] == nil || seen[identity] {
				continue
			}
			seen[identity] = true
		}
		element = s.Plausible("m", element)
		if observer.Equal(element, map[string]any{}) {
			element = "empty" // an empty map in a list can match anything
		}
		out = append(out, element)
	}
	if len(out) == 0 && s.Injects == "" {
		return []any{}
	}
	return out
}

// Comparable returns a live value without insignificant parts: empty lists, maps that contain only these,
// and the order of list-maps.
func (s Server) Comparable(name string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for child, value := range v {
			if value = s.Comparable(child, value); !observer.Empty(value) || child[0] == 'v' {
				out[child] = value
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = s.Comparable("m", element)
		}
		if s.Typed && (name[0] == 'k' || name[0] == 's') {
			slices.SortFunc(out, func(a, b any) int { return strings.Compare(IdentityOf(a), IdentityOf(b)) })
		}
		return out
	}
	return v
}

// IdentityOf returns the key of an element, for any list.
func IdentityOf(element any) string {
	if m, ok := element.(map[string]any); ok {
		element = m["name"]
	}
	return fmt.Sprint(element)
}

// WithoutEmptyLists returns a value without empty lists, which the API server drops.
func WithoutEmptyLists(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, v := range value {
			if list, ok := v.([]any); ok && len(list) == 0 {
				delete(value, name)
				continue
			}
			value[name] = WithoutEmptyLists(v)
		}
	case []any:
		for i, v := range value {
			value[i] = WithoutEmptyLists(v)
		}
	}
	return value
}
