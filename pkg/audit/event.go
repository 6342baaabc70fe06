package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// event is what is read of an event of audit.k8s.io/v1.
type event struct {
	Stage            string
	RequestURI       string
	Verb             string
	User             struct{ Username string }
	ImpersonatedUser struct{ Username string }
	SourceIPs        []string
	ObjectRef        struct{ APIGroup, Resource string }
	ResponseStatus   struct{ Code int }
	Received         time.Time `json:"requestReceivedTimestamp"`
	// RequestObject of a deletion are its options; of nothing else it is read. Of
	// ResponseObject only the metadata are.
	RequestObject, ResponseObject json.RawMessage
}

// How long texts of an event may be.
const (
	longestName    = 256
	longestVersion = 128
)

// read reads a list of events one by one, and hands on what they claim. Events that do not
// have the shape of one are counted and left out. The error says why nothing more can be
// read.
func read(body io.Reader, add func(v1alpha1.ObjectVersion, claim)) (received, dropped int64, err error) {
	limited := &budget{Reader: body}
	decoder := json.NewDecoder(limited)
	one := func(into any) error {
		limited.left = mostEvent
		return decoder.Decode(into)
	}
	limited.left = mostEvent
	if begins, err := decoder.Token(); err != nil || begins != json.Delim('{') {
		return 0, 0, errors.Join(errors.New("it is not a JSON object"), err)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return received, dropped, err
		}
		if key != "items" {
			if err := one(&json.RawMessage{}); err != nil {
				return received, dropped, err
			}
			continue
		}
		if begins, err := decoder.Token(); err != nil || begins != json.Delim('[') {
			return received, dropped, errors.Join(errors.New("items is not a list"), err)
		}
		for decoder.More() {
			var e event
			err := one(&e)
			var shape *json.UnmarshalTypeError
			if err != nil && !errors.As(err, &shape) {
				return received, dropped, fmt.Errorf("event %d: %w", received, err)
			}
			received++
			if version, claims, ok := e.claim(); ok && err == nil {
				add(version, claims)
			} else {
				dropped++
			}
		}
		if _, err := decoder.Token(); err != nil {
			return received, dropped, err
		}
	}
	_, err = decoder.Token()
	return received, dropped, err
}

// claim is what an event says for certain: that a request has succeeded, and which version
// of which object it has made.
func (e *event) claim() (v v1alpha1.ObjectVersion, c claim, ok bool) {
	writes := slices.Contains([]string{"create", "update", "patch", "delete"}, e.Verb)
	isSecret := e.ObjectRef.APIGroup == "" && e.ObjectRef.Resource == "secrets"
	if !writes || isSecret || e.Stage != "ResponseComplete" || e.ResponseStatus.Code/100 != 2 || e.isDryRun() {
		return v, c, false
	}
	var response struct {
		Kind     string
		Metadata struct{ UID, ResourceVersion string }
		Details  struct{ UID string }
	}
	if json.Unmarshal(e.ResponseObject, &response) != nil {
		return v, c, false
	}
	v = v1alpha1.ObjectVersion{UID: types.UID(response.Metadata.UID), ResourceVersion: response.Metadata.ResourceVersion}
	if e.Verb == "delete" {
		v.ResourceVersion = ""
		if response.Kind == "Status" {
			v.UID = types.UID(response.Details.UID)
		}
	}
	c = claim{user: e.user(), at: e.Received}
	ok = v.UID != "" && (v.ResourceVersion != "" || e.Verb == "delete") && c.user.Name != "" &&
		len(v.UID) <= longestVersion && len(v.ResourceVersion) <= longestVersion
	return v, c, ok
}

// isDryRun reports whether nothing was written.
func (e *event) isDryRun() bool {
	at, err := url.ParseRequestURI(e.RequestURI)
	if err != nil || at.Query().Has("dryRun") {
		return true
	}
	var options struct{ DryRun []string }
	if e.Verb != "delete" || len(e.RequestObject) == 0 {
		return false
	}
	return json.Unmarshal(e.RequestObject, &options) != nil || len(options.DryRun) > 0
}

// user is who did it. Of the addresses only the last one is the API server's own word: the
// others are what the client says.
func (e *event) user() plan.User {
	user := plan.User{Name: shortened(e.User.Username)}
	if as := e.ImpersonatedUser.Username; as != "" {
		user.Name, user.Impersonator = shortened(as), user.Name
	}
	if n := len(e.SourceIPs); n > 0 {
		if address, err := netip.ParseAddr(e.SourceIPs[n-1]); err == nil {
			user.Address = address.WithZone("").String()
		}
	}
	return user
}

// shortened is a name that is too long as its beginning.
func shortened(name string) string {
	if len(name) <= longestName {
		return name
	}
	return strings.ToValidUTF8(name[:longestName], "") + "…"
}

// budget is a reader that ends with an error when more is read than is left.
type budget struct {
	io.Reader

	left int
}

var errTooLarge = errors.New("it is too large")

func (b *budget) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.Reader.Read(into[:min(len(into), b.left)])
	b.left -= n
	return n, err
}
