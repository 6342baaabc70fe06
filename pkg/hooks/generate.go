package hooks

import (
	"encoding/base64"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// GeneratedKey is a key of a Secret that is filled with random text.
type GeneratedKey struct {
	Name string
	// Length is the number of characters from the alphabet A-Z, a-z, 0-9. Each adds almost 6 bits.
	Length int
}

const (
	defaultLength   = 32
	shortestSecret  = 8
	maxSecretLength = 1024
)

// keyName matches a valid key of a Secret.
var keyName = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)

// GeneratedKeys parses the annotation holdfast.dev/generate of a manifest, for example
// "password,root-password:32". It returns nil if the annotation is not set.
func GeneratedKeys(object map[string]any) ([]GeneratedKey, error) {
	text, has := manifest.NestedMap(object, "metadata", "annotations")[v1alpha1.AnnotationGenerate].(string)
	if !has {
		return nil, nil
	}
	var keys []GeneratedKey
	for part := range strings.SplitSeq(text, ",") {
		name, length, hasLength := strings.Cut(strings.TrimSpace(part), ":")
		key := GeneratedKey{Name: name, Length: defaultLength}
		if !keyName.MatchString(name) {
			return nil, fmt.Errorf("%q is not a valid key of a Secret: use letters, digits, '-', '_' and '.'", name)
		}
		if hasLength {
			n, err := strconv.Atoi(length)
			if err != nil || n < shortestSecret || n > maxSecretLength {
				return nil, fmt.Errorf("%s has length %q: it must be a number from %d to %d", name, length, shortestSecret, maxSecretLength)
			}
			key.Length = n
		}
		if slices.ContainsFunc(keys, func(k GeneratedKey) bool { return k.Name == name }) {
			return nil, fmt.Errorf("duplicate key %s", name)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// CheckGenerate listens to ApplicationMangling. It rejects annotations that Generate cannot satisfy,
// and manifests that would overwrite its values. It warns of keys that an existing Secret will never get.
func CheckGenerate(m *Mangling) error {
	for _, o := range m.Objects {
		keys, err := GeneratedKeys(o.Content)
		if err == nil && keys != nil {
			err = checkGenerate(o, keys, m.Entries[o.ID])
		}
		if err != nil {
			return fmt.Errorf("%s: annotation %s: %w", o.ID, v1alpha1.AnnotationGenerate, err)
		}
		m.Warnings = append(m.Warnings, neverGenerated(o.ID, keys, m.Live[o.ID])...)
	}
	return nil
}

// neverGenerated returns a warning for each key that an existing Secret lacks: Generate fills keys only in a create
// request.
func neverGenerated(id manifest.ID, keys []GeneratedKey, live map[string]any) (warnings []string) {
	data, _ := live["data"].(map[string]any)
	for _, key := range keys {
		if _, has := data[key.Name]; live != nil && !has {
			warnings = append(warnings, fmt.Sprintf("%s: %s is not generated, because the Secret exists already: add the key by hand", id, key.Name))
		}
	}
	return warnings
}

// checkGenerate returns the reason why the keys of an object cannot be generated, or nil. entry is its schema, or
// nil.
func checkGenerate(o manifest.Object, keys []GeneratedKey, entry *observer.Schema) error {
	if !manifest.IsSecret(o.ID.GroupKind()) {
		return fmt.Errorf("is for Secrets only, this is a %s", o.ID.Kind)
	}
	data, _ := o.Content["data"].(map[string]any)
	for _, key := range keys {
		if _, set := data[key.Name]; set {
			return fmt.Errorf("the manifest also sets %s: remove one of them", key.Name)
		}
	}
	if entry != nil && !entry.Default && entry.Root.Field("data") != nil && entry.Root.Field("data").IsHeld() {
		return fmt.Errorf("the observer schema holds the entire data, and would remove the generated keys: list the keys to hold")
	}
	return nil
}

// Generate listens to ResourcePreCreate. It fills the keys that the annotation names when a Secret is created. These
// keys are not observed. If the Secret is deleted, it is created again with other values.
func Generate(c *CreateEvent) error {
	keys, err := GeneratedKeys(c.Object)
	if err != nil || len(keys) == 0 || !manifest.IsSecret(c.ID.GroupKind()) {
		return err
	}
	data := manifest.EnsureMap(c.Object, "data")
	for _, key := range keys {
		text, err := randomText(c.Random, key.Length)
		if err != nil {
			return fmt.Errorf("generating %s: %w", key.Name, err)
		}
		data[key.Name] = base64.StdEncoding.EncodeToString(text)
	}
	return nil
}

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// randomText returns random text in which all characters of the alphabet are equally likely. It discards bytes that
// would make the first characters more likely. It reads more bytes than it needs, and returns the error of random.
func randomText(random io.Reader, length int) ([]byte, error) {
	const fair = 256 - 256%len(alphabet)
	text := make([]byte, 0, length)
	buffer := make([]byte, 2*length)
	for len(text) < length {
		if _, err := io.ReadFull(random, buffer); err != nil {
			return nil, err
		}
		for _, b := range buffer {
			if int(b) < fair && len(text) < length {
				text = append(text, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	return text, nil
}
