// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
)

const (
	// clientCAsTimeout bounds how long a request waits for the CAs of clients.
	clientCAsTimeout = 10 * time.Second
	caInterval       = 10 * time.Millisecond
)

// clientCAs are those that the certificates of clients, and of the aggregator in their name, are verified by. The library takes
// them from the management cluster by a watch that begins when the port is open already. Until the first response it treats every
// client as anonymous: users would be denied requests that they are allowed to make.
type clientCAs struct {
	// wanted are the bundles, in PEM, and loaded returns all that the server has.
	wanted []string
	loaded func() []byte
	// complete is remembered: what is loaded once does not go.
	complete atomic.Bool
}

// hostCAs reads which bundles the library will take from the management cluster.
func hostCAs(
	ctx context.Context, host kubernetes.Interface, o *genericoptions.DelegatingAuthenticationOptions, loaded func() []byte,
) (*clientCAs, error) {
	const namespace, name = metav1.NamespaceSystem, "extension-apiserver-authentication"
	published, err := host.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot read the CAs of clients from ConfigMap %s/%s: %w", namespace, name, err)
	}
	a := &clientCAs{loaded: loaded}
	for key, file := range map[string]string{"client-ca-file": o.ClientCert.ClientCA,
		"requestheader-client-ca-file": o.RequestHeader.ClientCAFile} {
		if bundle := strings.TrimSpace(published.Data[key]); bundle != "" && file == "" {
			a.wanted = append(a.wanted, bundle)
		}
	}
	return a, nil
}

// known reports whether every CA is loaded.
func (a *clientCAs) known() bool {
	if a.complete.Load() {
		return true
	}
	loaded := string(a.loaded())
	for _, bundle := range a.wanted {
		if !strings.Contains(loaded, bundle) {
			return false
		}
	}
	a.complete.Store(true)
	return true
}

// before returns next for requests that wait until the CAs are known. After a timeout, next is called without them, and rejects
// client certificates.
func (a *clientCAs) before(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		if !a.known() {
			_ = wait.PollUntilContextTimeout(request.Context(), caInterval, clientCAsTimeout, false,
				func(context.Context) (bool, error) { return a.known(), nil })
		}
		return next.AuthenticateRequest(request)
	})
}

// bundleOf returns a function that returns the bundle of a provider in its current state. The library's own joins the bundles of
// all its sources again whenever it is queried; this one does when a source reports that it changed.
func bundleOf(provider dynamiccertificates.CAContentProvider) func() []byte {
	b := &bundle{provider: provider}
	provider.AddListener(b)
	return b.content
}

// bundle remembers what a provider has.
type bundle struct {
	provider dynamiccertificates.CAContentProvider
	changes  atomic.Int64
	last     atomic.Pointer[joined]
}

// joined is a bundle in its state after that many changes.
type joined struct {
	changes int64
	content []byte
}

// Enqueue implements dynamiccertificates.Listener. A source calls it when it has its new content.
func (b *bundle) Enqueue() { b.changes.Add(1) }

func (b *bundle) content() []byte {
	changes := b.changes.Load() // before the content is read, so that a change meanwhile is not missed
	if last := b.last.Load(); last != nil && last.changes == changes {
		return last.content
	}
	fresh := &joined{changes: changes, content: b.provider.CurrentCABundleContent()}
	b.last.Store(fresh)
	return fresh.content
}
