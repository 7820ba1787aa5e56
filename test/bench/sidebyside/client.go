// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

const (
	typeJSON     = "application/json"
	typeProtobuf = "application/vnd.kubernetes.protobuf"
	typeMerge    = "application/merge-patch+json"
	typeApply    = "application/apply-patch+yaml"
)

// client sends requests over one dedicated connection, and decodes nothing: what it costs is not the servers' share.
type client struct {
	http   *http.Client
	server string
	accept string
}

// newClient makes a client of a server; accept is the media type of responses.
func newClient(config *rest.Config, accept string) (*client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	// Responses are not compressed, as for most clients that send requests from the same network.
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, DisableCompression: true}
	return &client{http: &http.Client{Transport: transport}, server: strings.TrimSuffix(config.Host, "/"), accept: accept}, nil
}

// request is one request that is ready to be sent.
type request struct {
	method, path, contentType string
	body                      []byte
}

// do sends a request and returns the whole response. Any status but 2xx is an error.
func (c *client) do(ctx context.Context, r request) ([]byte, error) {
	response, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	return body, nil
}

// send sends a request and returns the response to be read, which the caller closes.
func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	httpRequest, err := http.NewRequestWithContext(ctx, r.method, c.server+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	httpRequest.Header.Set("Accept", c.accept)
	if r.contentType != "" {
		httpRequest.Header.Set("Content-Type", r.contentType)
	}
	response, err := c.http.Do(httpRequest)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		defer func() { _ = response.Body.Close() }()
		message, _ := io.ReadAll(io.LimitReader(response.Body, 2<<10))
		return nil, fmt.Errorf("%s %s: %s: %s", r.method, r.path, response.Status, message)
	}
	return response, nil
}

// close ends the connection.
func (c *client) close() { c.http.CloseIdleConnections() }
