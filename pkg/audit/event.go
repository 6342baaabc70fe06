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

// event contains the fields of an audit.k8s.io/v1 Event that the package uses.
type event struct {
	// Only events of the stage ResponseComplete contain a response. RequestURI shows whether the request was a dry run.
	Stage            string
	RequestURI       string
	Verb             string
	User             struct{ Username string }
	ImpersonatedUser struct{ Username string }
	// SourceIPs begins with addresses that the client claims, and ends with the address of its connection.
	SourceIPs []string
	// ObjectRef identifies events about Secrets, which are ignored.
	ObjectRef      struct{ APIGroup, Resource string }
	ResponseStatus struct{ Code int }
	Received       time.Time `json:"requestReceivedTimestamp"`
	// RequestObject is used for the options of a delete request only, ResponseObject for its metadata only.
	RequestObject, ResponseObject json.RawMessage
}

// Limits of the strings taken from an event.
const (
	maxNameBytes    = 256
	maxVersionBytes = 128
)

// read decodes a list of events one by one and passes each attribution to add. So it needs memory for one event only,
// of at most maxEventBytes. Malformed events, and events that identify no user, are counted as dropped. The error is
// the reason why reading stopped before the end of the list; the earlier events are recorded then.
func read(body io.Reader, add func(v1alpha1.ObjectVersion, attribution)) (received, dropped int64, err error) {
	limited := &budget{Reader: body}
	decoder := json.NewDecoder(limited)
	one := func(into any) error {
		// The limit applies to each event, not to the list, which MaxBytesReader limits.
		limited.left = maxEventBytes
		return decoder.Decode(into)
	}
	limited.left = maxEventBytes
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
			if _, isShape := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !isShape {
				return received, dropped, fmt.Errorf("event %d: %w", received, err)
			}
			received++
			if version, claims, ok := e.attribution(); ok && err == nil {
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

// attribution returns the object version that the request wrote, and its user. It returns false unless the event is
// about a successful write and identifies the resulting version. The version of a deletion contains only the UID,
// because an API server does not always return the last resourceVersion.
func (e *event) attribution() (v v1alpha1.ObjectVersion, c attribution, ok bool) {
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
	// The response is the deleted object, or a Status with its UID.
	if e.Verb == "delete" {
		v.ResourceVersion = ""
		if response.Kind == "Status" {
			v.UID = types.UID(response.Details.UID)
		}
	}
	c = attribution{user: e.user(), at: e.Received}
	ok = v.UID != "" && (v.ResourceVersion != "" || e.Verb == "delete") && c.user.Name != "" &&
		len(v.UID) <= maxVersionBytes && len(v.ResourceVersion) <= maxVersionBytes
	return v, c, ok
}

// isDryRun reports whether the request was a dry run. It returns true if the request cannot be parsed.
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

// user returns the user of the request, with the impersonator and the source address. Only the last source
// address was observed by the API server itself; the client can forge the others.
func (e *event) user() plan.User {
	user := plan.User{Name: truncated(e.User.Username)}
	if as := e.ImpersonatedUser.Username; as != "" {
		user.Name, user.Impersonator = truncated(as), user.Name
	}
	if n := len(e.SourceIPs); n > 0 {
		if address, err := netip.ParseAddr(e.SourceIPs[n-1]); err == nil {
			user.Address = address.WithZone("").String()
		}
	}
	return user
}

// truncated returns the name, cut after maxNameBytes.
func truncated(name string) string {
	if len(name) <= maxNameBytes {
		return name
	}
	return strings.ToValidUTF8(name[:maxNameBytes], "") + "…"
}

// budget is a reader that fails with errTooLarge when more than left bytes are read. The caller sets left before each
// event.
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
