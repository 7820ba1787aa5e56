// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// maxVersion is how many bytes of a version are read.
const maxVersion = 64 << 10

// workloadView is what a check of a workload cluster showed: its version, or the reason why there is none.
type workloadView struct {
	version string
	reason  string
	message string
	// insecure is true when the certificate of the API server was not verified.
	insecure bool
	// permissions is what a preflight showed; nil: none was made.
	permissions *metav1.Condition
	// clusterID identifies the cluster; "": it did not respond to that.
	clusterID string
}

// probeWorkload queries an API server for its version. Every user that it knows is allowed to do that; one whose credentials it
// does not know may not.
func probeWorkload(ctx context.Context, config *rest.Config) workloadView {
	failed := func(reason, format string, args ...any) workloadView {
		return workloadView{reason: reason, message: fmt.Sprintf(format, args...)}
	}
	client, err := clientFor(config)
	if err != nil {
		return failed(kluster.ReasonSecretInvalid, "the credentials of the cluster cannot be used")
	}
	ctx, cancel := context.WithTimeout(ctx, workloadTimeout)
	defer cancel()
	var version apimachineryversion.Info
	code, err := get(ctx, client, config, "/version", &version)
	switch {
	case code == 0:
		return failed(string(openstack.ReasonUnreachable), "no response from the API server: %v", err)
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return failed(string(openstack.ReasonCredentialsRefused), "the API server responds with status %d: check the credentials of the cluster in the Secret", code)
	case code != http.StatusOK:
		return failed(string(openstack.ReasonUnreachable), "the API server responds with status %d", code)
	}
	if err != nil || version.GitVersion == "" || len(version.GitVersion) > 128 {
		return failed(reasonNoAPIServer, "what responds is no API server of Kubernetes")
	}
	return workloadView{version: version.GitVersion, insecure: config.Insecure, clusterID: identify(ctx, client, config)}
}

// identify returns the uid of the namespace kube-system; "" when the API server does not report it.
func identify(ctx context.Context, client *http.Client, config *rest.Config) string {
	var system metav1.PartialObjectMetadata
	code, err := get(ctx, client, config, "/api/v1/namespaces/"+metav1.NamespaceSystem, &system)
	if err != nil || code != http.StatusOK || system.Kind != "Namespace" || system.Name != metav1.NamespaceSystem || len(system.UID) > 128 {
		return ""
	}
	return string(system.UID)
}

// get reads a JSON document. The code is 0 without a response, and then the error reports why.
func get(ctx context.Context, client *http.Client, config *rest.Config, path string, into any) (code int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(config.Host, "/")+path, nil)
	if err != nil {
		return 0, errors.New("the URL of the API server cannot be used")
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	data, err := io.ReadAll(io.LimitReader(response.Body, maxVersion))
	if err != nil {
		return response.StatusCode, err
	}
	return response.StatusCode, json.Unmarshal(data, into)
}

// clientFor returns a client of one request: nothing of it is kept. It follows no redirect, which would carry the credentials
// to another server.
func clientFor(config *rest.Config) (*http.Client, error) {
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	proxy := config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{TLSClientConfig: tlsConfig, Proxy: proxy, DisableKeepAlives: true})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}
