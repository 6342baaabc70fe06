package audit

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
)

// written returns an event about a ConfigMap written by user mallory. The given fields come first and
// override the defaults.
func written(fields string) string {
	return `{"level": "RequestResponse", "stage": "ResponseComplete", "verb": "patch", "requestURI": "/api/v1/namespaces/shop/configmaps/web?fieldManager=x",
  "user": {"username": "mallory", "groups": ["a"]}, "sourceIPs": ["6.6.6.6", "10.0.0.7"], "objectRef": {"resource": "configmaps", "apiVersion": "v1"},
  "responseStatus": {"code": 200}, "responseObject": {"kind": "ConfigMap", "metadata": {"uid": "u-1", "resourceVersion": "7"}, "data": {"key": "value"}},
  "requestReceivedTimestamp": "2026-01-02T03:04:05.000000Z"` + fields + `}`
}

func list(events ...string) string {
	return `{"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}, "items": [` + strings.Join(events, ",") + `]}`
}

// post sends a body to a handler and returns the status code.
func post(h *Handler, body string) int {
	if h.slots == nil {
		h.slots = make(chan struct{}, maxConcurrentLists)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
	return w.Code
}

// users returns an empty Users and its clock.
func users() (*Users, *time.Time) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return NewUsers(func() time.Time { return now }), &now
}

func version(uid, resourceVersion string) v1alpha1.ObjectVersion {
	return v1alpha1.ObjectVersion{UID: types.UID(uid), ResourceVersion: resourceVersion}
}

// who returns the user of a version as one string, or "".
func (u *Users) who(v v1alpha1.ObjectVersion) string {
	user, known := u.Lookup("app", []v1alpha1.ObjectVersion{v})[v]
	if !known {
		return ""
	}
	return strings.TrimRight(user.Name+" "+user.Impersonator+" "+user.Address, " ")
}

func TestEventAttribution(t *testing.T) {
	changed, deleted := version("u-1", "7"), version("u-1", "")
	status := `, "verb": "delete", "responseObject": {"kind": "Status", "metadata": {}, "details": {"name": "web", "uid": "u-1"}}`
	for _, row := range []struct {
		name, fields string
		of           v1alpha1.ObjectVersion
		want         string
	}{
		{"who, and the only address that a client cannot make up", "", changed, "mallory  10.0.0.7"},
		{"as whom, and who it was", `, "impersonatedUser": {"username": "alice"}`, changed, "alice mallory 10.0.0.7"},
		{"an address that is none", `, "sourceIPs": ["<script>"]`, changed, "mallory"},
		{"a deletion at once", status, deleted, "mallory  10.0.0.7"},
		{"a deletion that takes its time", `, "verb": "delete"`, deleted, "mallory  10.0.0.7"},
		{"a deletion is no change", `, "verb": "delete"`, changed, ""},
		{"a deletion that is none", status + `, "requestObject": {"dryRun": ["All"]}`, deleted, ""},
		{"a dry run", `, "requestURI": "/api?dryRun=All"`, changed, ""},
		{"a read", `, "verb": "get"`, changed, ""},
		{"a failure", `, "responseStatus": {"code": 409}`, changed, ""},
		{"a request that only begins", `, "stage": "RequestReceived"`, changed, ""},
		{"a Secret", `, "objectRef": {"resource": "secrets"}`, changed, ""},
		{"a custom kind of that name", `, "objectRef": {"resource": "secrets", "apiGroup": "example.com"}`, changed, "mallory  10.0.0.7"},
		{"a policy without objects", `, "responseObject": null`, changed, ""},
		{"an object without metadata", `, "responseObject": {"metadata": 7}`, changed, ""},
		{"an object that is a list", `, "responseObject": []`, changed, ""},
		{"a user that is a number", `, "user": {"username": 7}`, changed, ""},
		{"nobody", `, "user": {"username": ""}`, changed, ""},
		{"a name without end", `, "user": {"username": "` + strings.Repeat("é", 500) + `"}`, changed, strings.Repeat("é", 128) + "…  10.0.0.7"},
		{"a version without end", `, "responseObject": {"metadata": {"uid": "u-1", "resourceVersion": "` + strings.Repeat("7", 200) + `"}}`, version("u-1", strings.Repeat("7", 200)), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			u, _ := users()
			assert.Equal(t, http.StatusOK, post(&Handler{Users: u}, list(written(row.fields))))
			assert.Equal(t, row.want, u.who(row.of))
			received, joined, dropped := u.Stats()
			assert.Equal(t, int64(1), received)
			if row.want != "" {
				assert.Equal(t, []int64{1, 0}, []int64{joined, dropped})
			}
		})
	}
}

// The user of a version is found if the event arrives before the lookup, and if it arrives afterwards. A
// repeated event has no effect.
func TestUserBeforeAndAfterLookup(t *testing.T) {
	u, now := users()
	var told []types.UID
	u.SetNotify(func(app types.UID) { told = append(told, app) })
	h := &Handler{Users: u}
	for range 2 {
		post(h, list(written("")))
	}
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
	assert.Empty(t, told, "it knows already")

	later := `, "responseObject": {"metadata": {"uid": "u-1", "resourceVersion": "8"}}`
	assert.Empty(t, u.who(version("u-1", "8")))
	for range 2 {
		post(h, list(written(later), written(later+`, "user": {"username": "bob"}`)))
	}
	assert.Equal(t, []types.UID{"app"}, told, "once")
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "8")), "the first one")

	*now = now.Add(retention)
	assert.Empty(t, u.who(version("u-1", "8")), "too late")
	_, joined, _ := u.Stats()
	assert.Equal(t, int64(2), joined)
}

// Applications that share an object look up the same version.
func TestEachLookupOfAVersionIsNotified(t *testing.T) {
	u, _ := users()
	var told []types.UID
	u.SetNotify(func(app types.UID) { told = append(told, app) })
	for _, app := range []types.UID{"a", "b", "a"} {
		assert.Empty(t, u.Lookup(app, []v1alpha1.ObjectVersion{version("u-1", "7")}))
	}
	for range 2 {
		post(&Handler{Users: u}, list(written("")))
	}
	assert.Equal(t, []types.UID{"a", "b"}, told)
}

// A request that changes nothing returns the existing version, so the earliest request is its writer.
func TestEarliestRequestWins(t *testing.T) {
	u, _ := users()
	post(&Handler{Users: u}, list(
		written(`, "user": {"username": "bob"}, "requestReceivedTimestamp": "2026-01-02T03:04:06Z"`), written(""),
		written(`, "user": {"username": "carol"}, "requestReceivedTimestamp": "2026-01-02T03:04:07Z"`)))
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
}

// A flood of events does not exceed the limits, and does not evict pending lookups.
func TestEventFloodKeepsLookups(t *testing.T) {
	u, _ := users()
	assert.Empty(t, u.who(version("u-1", "7")))
	h := &Handler{Users: u}
	post(h, list(written("")))
	var flood []string
	for i := range 3 * maxUnclaimed {
		flood = append(flood, fmt.Sprintf(`{"stage": "ResponseComplete", "verb": "update", "requestURI": "/", "user": {"username": "eve"}, "responseStatus": {"code": 200},
  "responseObject": {"metadata": {"uid": "u-%d", "resourceVersion": "9"}}}`, i))
	}
	assert.Equal(t, http.StatusOK, post(h, list(flood...)))
	assert.Len(t, u.names.items, maxUnclaimed)
	assert.Len(t, u.names.order, maxUnclaimed)
	assert.Equal(t, "mallory  10.0.0.7", u.who(version("u-1", "7")))
	assert.Equal(t, "eve", u.who(version(fmt.Sprintf("u-%d", 3*maxUnclaimed-1), "9")), "the newest are there")
	for i := range 2 * maxPendingLookups {
		u.who(version(fmt.Sprint("q-", i), "9"))
	}
	assert.Len(t, u.asked.items, maxPendingLookups)
}

// An event that answers a lookup needs no room for another one.
func TestAnswersEvictNoLookups(t *testing.T) {
	u, now := users()
	for i := range maxPendingLookups {
		u.who(version(fmt.Sprint("u-", i), "7"))
	}
	for i := range maxPendingLookups {
		u.add(version(fmt.Sprint("u-", maxPendingLookups-1-i), "7"), attribution{user: plan.User{Name: "bob"}, at: *now})
	}
	_, joined, _ := u.Stats()
	assert.Equal(t, int64(maxPendingLookups), joined)
}

func TestRejectedRequests(t *testing.T) {
	u, _ := users()
	huge := strings.Repeat("x", 3*maxEventBytes) // the decoder buffers some bytes
	for _, row := range []struct {
		name, body string
		code       int
		received   int64
	}{
		{"nothing", "", http.StatusBadRequest, 0},
		{"no JSON", "<html>", http.StatusBadRequest, 0},
		{"a list without a list", `{"items": 7}`, http.StatusBadRequest, 0},
		{"a list that ends early", strings.TrimSuffix(list(written("")), "]}"), http.StatusBadRequest, 1},
		{"an event that is broken", list(written(""), `{"stage": `), http.StatusBadRequest, 1},
		{"an event that is deep", list(strings.Repeat("[", 20000)), http.StatusBadRequest, 0},
		{"an event that is too large", list(written(""), written(`, "userAgent": "`+huge+`"`)), http.StatusRequestEntityTooLarge, 1},
		{"something else that is too large", `{"metadata": "` + huge + `"}`, http.StatusRequestEntityTooLarge, 0},
		{"events that are no events", list("7", "null", `"x"`, "[]", "{}"), http.StatusOK, 5},
		{"a list of nothing", list(), http.StatusOK, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			before, _, _ := u.Stats()
			assert.Equal(t, row.code, post(&Handler{Users: u}, row.body))
			after, _, _ := u.Stats()
			assert.Equal(t, row.received, after-before)
		})
	}

	t.Run("what is too large altogether", func(t *testing.T) {
		event := written(`, "userAgent": "` + strings.Repeat("x", maxEventBytes/2) + `"`)
		assert.Equal(t, http.StatusRequestEntityTooLarge, post(&Handler{Users: u}, list(strings.Repeat(event+",", 2*maxBodyBytes/maxEventBytes)+event)))
	})
	t.Run("who has no token", func(t *testing.T) {
		h := &Handler{Users: u, Token: func() []byte { return []byte("a-token") }}
		for token, code := range map[string]int{"": http.StatusUnauthorized, "Bearer a-toke": http.StatusUnauthorized, "Basic a-token": http.StatusUnauthorized, "Bearer ": http.StatusUnauthorized} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(list()))
			r.Header.Set("Authorization", token)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			assert.Equal(t, code, w.Code, token)
		}
	})
	t.Run("a method that is none of it", func(t *testing.T) {
		w := httptest.NewRecorder()
		(&Handler{Users: u}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
	})
	t.Run("while another process leads", func(t *testing.T) {
		w := httptest.NewRecorder()
		h := &Handler{Users: u, Leading: func() bool { return false }}
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(list())))
		assert.Equal(t, []string{"503", "close"}, []string{fmt.Sprint(w.Code), w.Header().Get("Connection")})
	})
}

// FuzzRead checks that no input causes a panic, and that the length of every accepted string is bounded.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{list(written("")), list(written(`, "verb": "delete"`)), `{"items": [{}, 7`, list(`{"responseObject": {"metadata": {}}}`), "[]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		received, dropped, _ := read(strings.NewReader(body), func(v v1alpha1.ObjectVersion, c attribution) {
			assert.NotEmpty(t, v.UID)
			assert.NotEqual(t, plan.User{}, c.user)
			assert.LessOrEqual(t, len(c.user.Name)+len(c.user.Impersonator)+len(c.user.Address), 3*maxNameBytes)
		})
		assert.LessOrEqual(t, dropped, received)
	})
}
