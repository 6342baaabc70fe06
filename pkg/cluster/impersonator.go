package cluster

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/transport"
)

// userKey is the key of the user in the context of a request.
type userKey struct{}

// impersonator sends every request as the user in its context. It rejects requests without a user, which would have
// the controller's own permissions. It changes a copy of the request, as http.RoundTripper requires.
type impersonator struct{ next http.RoundTripper }

func (t impersonator) RoundTrip(request *http.Request) (*http.Response, error) {
	user, ok := request.Context().Value(userKey{}).(string)
	if !ok || user == "" {
		return nil, fmt.Errorf("refused to send %s %s without a ServiceAccount to act as", request.Method, request.URL.Path)
	}
	request = request.Clone(request.Context())
	request.Header.Set(transport.ImpersonateUserHeader, user)
	return t.next.RoundTrip(request)
}
