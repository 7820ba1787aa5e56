// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// callTimeout is the time for one request to OpenStack.
	callTimeout = time.Minute
	// retryPeriod is the pause between two questions about an object that is on its way.
	retryPeriod = 100 * time.Millisecond
)

// Credentials are a user's of a project; both are in the domain Default.
type Credentials struct {
	// AuthURL is Keystone's, with its version, as http://127.0.0.1:5000/v3.
	AuthURL string
	// User, Password and Project are names, except for the password.
	User, Password, Project string
}

// cloud is OpenStack, as the user of the cluster sees it.
type cloud struct {
	credentials Credentials
	client      http.Client

	mu        sync.Mutex
	token     string
	endpoints map[string]string
}

// A response that is no success.
type rejection struct {
	status int
	text   string
}

// Error returns the response.
func (r *rejection) Error() string { return fmt.Sprintf("%d %s", r.status, r.text) }

func newCloud(c Credentials) *cloud {
	return &cloud{credentials: c, client: http.Client{Timeout: callTimeout, Transport: &http.Transport{}}}
}

// login gets a token and the catalog.
func (c *cloud) login(ctx context.Context) error {
	domain := map[string]any{"name": "Default"}
	user := map[string]any{"name": c.credentials.User, "password": c.credentials.Password, "domain": domain}
	body := map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{"user": user}},
		"scope":    map[string]any{"project": map[string]any{"name": c.credentials.Project, "domain": domain}},
	}}
	var response struct {
		Token struct {
			Catalog []struct {
				Type      string `json:"type"`
				Endpoints []struct {
					Interface string `json:"interface"`
					URL       string `json:"url"`
				} `json:"endpoints"`
			} `json:"catalog"`
		} `json:"token"`
	}
	header, err := c.send(ctx, http.MethodPost, c.credentials.AuthURL+"/auth/tokens", "", body, &response)
	if err != nil {
		return fmt.Errorf("log in to OpenStack: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.endpoints = header.Get("X-Subject-Token"), map[string]string{}
	for _, service := range response.Token.Catalog {
		for _, endpoint := range service.Endpoints {
			if endpoint.Interface == "public" {
				c.endpoints[service.Type] = strings.TrimSuffix(endpoint.URL, "/")
			}
		}
	}
	return nil
}

// call sends a request with the token. Path begins with the type of the service. A response that is no success is a rejection.
func (c *cloud) call(ctx context.Context, method, path string, body, into any) error {
	for again := false; ; again = true {
		c.mu.Lock()
		service, rest, _ := strings.Cut(path, "/")
		address, token := c.endpoints[service]+"/"+rest, c.token
		c.mu.Unlock()
		_, err := c.send(ctx, method, address, token, body, into)
		if statusOf(err) == http.StatusUnauthorized && !again && c.login(ctx) == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
		return nil
	}
}

// remove deletes an object. One that has already been deleted is fine.
func (c *cloud) remove(ctx context.Context, path string) error {
	err := c.call(ctx, http.MethodDelete, path, nil, nil)
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// find reads a collection, filtered by a query: there are never so many that a response would have pages.
func find[T any](ctx context.Context, c *cloud, path, collection string, query url.Values) ([]T, error) {
	var response map[string]json.RawMessage
	if err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &response); err != nil {
		return nil, err
	}
	var found []T
	if err := json.Unmarshal(response[collection], &found); err != nil {
		return nil, fmt.Errorf("GET %s: %w", path, err)
	}
	return found, nil
}

func (c *cloud) send(ctx context.Context, method, address, token string, body, into any) (http.Header, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, reader)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, &rejection{status: response.StatusCode, text: string(text)}
	}
	if into != nil {
		err = json.Unmarshal(text, into)
	}
	return response.Header, err
}

// Waits until an object does not exist.
func (c *cloud) deleted(ctx context.Context, path string) error {
	for {
		err := c.call(ctx, http.MethodGet, path, nil, nil)
		if statusOf(err) == http.StatusNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if err := pause(ctx, retryPeriod); err != nil {
			return err
		}
	}
}

// statusOf returns the code of a response that is no success; 0: the error is none.
func statusOf(err error) int {
	if r, ok := errors.AsType[*rejection](err); ok {
		return r.status
	}
	return 0
}
