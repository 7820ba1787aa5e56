// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package faults is a proxy between a client and an API server that lets the world look older than it is: events come late or
// never, lists are from the past, connections end in the middle of a write, and requests fail. It does to a client what overloaded
// API servers, restarted ones with old caches, and networks do:
// https://github.com/k8ssandra/cass-operator/issues/118, https://github.com/elastic/cloud-on-k8s/issues/4956.
package faults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy passes requests to an API server. It is safe for concurrent use.
type Proxy struct {
	upstream  *url.URL
	transport http.RoundTripper
	server    *httptest.Server
	end       context.CancelFunc
	requests  *request.RequestInfoFactory

	mu     sync.Mutex
	frozen map[schema.GroupResource]*frozen
	drops  map[schema.GroupResource]func(Event) bool
	faults []*fault
	writes []Write
}

// New starts a proxy to the API server of a configuration. All its clients have the permissions of that configuration.
func New(upstream *rest.Config) (*Proxy, error) {
	// Requests pass unchanged: one that the proxy repeated or delayed automatically would be another fault.
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, err
	}
	host, _, err := rest.DefaultServerUrlFor(upstream)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		upstream: host, transport: transport,
		requests: &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")},
		frozen:   map[schema.GroupResource]*frozen{}, drops: map[schema.GroupResource]func(Event) bool{},
	}
	p.server = httptest.NewUnstartedServer(p)
	// A client that still runs connects again immediately, and Close waits for its watches, which only the context of the server ends.
	ctx, end := context.WithCancel(context.Background())
	p.end, p.server.Config.BaseContext = end, func(net.Listener) context.Context { return ctx }
	p.server.StartTLS()
	return p, nil
}

// Close ends all connections and the proxy.
func (p *Proxy) Close() {
	p.end()
	p.server.CloseClientConnections()
	p.server.Close()
}

// Disconnect ends all connections, as a load balancer does that is restarted.
func (p *Proxy) Disconnect() { p.server.CloseClientConnections() }

// WriteKubeconfig writes a kubeconfig that leads to the proxy.
func (p *Proxy) WriteKubeconfig(path string) error {
	const name = "proxy"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: p.server.URL, CertificateAuthorityData: pemOf(p.server.Certificate())}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := p.requests.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	how := p.faultOf(info)
	if how != nil && how.before(w) {
		return
	}
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host, out.Host, out.RequestURI = p.upstream.Scheme, p.upstream.Host, p.upstream.Host, ""
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	if view := p.viewOf(resource); view != nil && info.IsResourceRequest {
		if status := view.rewrite(info, out); status != 0 {
			respond(w, status, "Invalid", "watches that begin with a list are not served while the view is frozen")
			return
		}
	}
	if info.Verb == "watch" {
		out.Header.Set("Accept", asJSON(out.Header.Get("Accept")))
		out.Header.Del("Accept-Encoding")
	}
	response, err := p.transport.RoundTrip(out)
	if err != nil {
		if r.Context().Err() == nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
		return
	}
	defer func() { _ = response.Body.Close() }()
	p.record(info, response.StatusCode)
	if how != nil && how.after(w, response) {
		return
	}
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	if info.Verb == "watch" && response.StatusCode == http.StatusOK {
		p.stream(r.Context(), w, resource, response.Body)
		return
	}
	_, _ = io.Copy(w, response.Body) // the client sees where it ends
}

// Write is a request that changed, or was to change, something.
type Write struct {
	Verb, Resource, Namespace, Name string
	// Status is the status code of the response.
	Status int
}

// String returns what was done.
func (w Write) String() string {
	return fmt.Sprintf("%s %s %s/%s: %d", w.Verb, w.Resource, w.Namespace, w.Name, w.Status)
}

// Writes returns the writes that reached the API server until now, those of Events and Leases left out.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

func (p *Proxy) record(info *request.RequestInfo, status int) {
	if !isWrite(info) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, Write{info.Verb, info.Resource, info.Namespace, info.Name, status})
}

// isWrite reports whether a request changes something. Events and Leases are written at any time.
func isWrite(info *request.RequestInfo) bool {
	return info.IsResourceRequest && !slices.Contains([]string{"get", "list", "watch"}, info.Verb) &&
		info.Resource != "events" && info.Resource != "leases"
}
