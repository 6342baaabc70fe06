package cluster

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// escape is the prefix of the escapes of <, > and &.
var escape = []byte(`\u00`)

// unescapedTransport removes the HTML escapes that encoding/json writes. They need six bytes for each <, > and &, and
// an API server limits the length of requests. It reads the whole body into memory.
type unescapedTransport struct{ next http.RoundTripper }

func (t unescapedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return t.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close()
	if err != nil {
		return nil, err
	}
	if request.Header.Get("Content-Type") == string(types.JSONPatchType) {
		body = unescapedPatch(body)
	} else {
		body = unescaped(body)
	}
	// A RoundTripper must not change the request. With GetBody, net/http can repeat it on another connection.
	request = request.Clone(request.Context())
	request.ContentLength = int64(len(body))
	request.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	request.Body, _ = request.GetBody()
	return t.next.RoundTrip(request)
}

// unescapedPatch removes the escapes from a JSON Patch, except from its test operations: an API server
// compares their values with the escaped text of the object byte by byte.
func unescapedPatch(body []byte) []byte {
	var ops []json.RawMessage
	if !bytes.Contains(body, escape) || json.Unmarshal(body, &ops) != nil {
		return body
	}
	short := make([]byte, 0, len(body))
	for i, raw := range ops {
		var op struct{ Op string }
		if err := json.Unmarshal(raw, &op); err == nil && op.Op != "test" {
			raw = unescaped(raw)
		}
		short = append(append(short, "[,"[min(i, 1)]), raw...)
	}
	return append(short, ']')
}

// unescaped returns JSON without the escapes of <, > and &. It returns other text than JSON unchanged.
func unescaped(body []byte) []byte {
	if !bytes.Contains(body, escape) || !json.Valid(body) {
		return body
	}
	return []byte(unescaper.Replace(string(body)))
}

// unescaper replaces the escapes of <, > and &. The first pair skips an escaped backslash, which can precede u003c.
var unescaper = strings.NewReplacer(`\\`, `\\`, `\u003c`, "<", `\u003e`, ">", `\u0026`, "&")
