package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// prober sends requests to the components as the administrator.
type prober struct {
	client *http.Client
	token  string
}

// statusError is a response with an error status.
type statusError struct {
	url  string
	code int
	body string
}

func (e statusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.url, e.code, strings.TrimSpace(e.body))
}

func newProber(authorityFile, token string) (prober, error) {
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		return prober{}, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) {
		return prober{}, fmt.Errorf("no certificate in %s", authorityFile)
	}
	return prober{token: token, client: &http.Client{
		// Long enough for a busy machine, short enough to notice a paused process.
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig:     &tls.Config{RootCAs: pool},
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 1,
		},
	}}, nil
}

// get returns a probe that requests the URL and returns nil on success.
func (p prober) get(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := p.do(ctx, http.MethodGet, url, "")
		return err
	}
}

func (p prober) do(ctx context.Context, method, url, body string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+p.token)
	request.Header.Set("User-Agent", "controlplane-up")
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := p.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= 300 {
		return nil, statusError{url: url, code: response.StatusCode, body: string(answer)}
	}
	return answer, nil
}
