// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package clientcert caches the verification of client certificates. The library verifies a certificate for each request, which
// takes a seventh of the CPU time of a read.
package clientcert

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

const (
	// lifetime is how long a result is used, like that of a token (the library's CacheTTL). It ends earlier when the certificate
	// expires or the CA bundles change, but not when a name is no longer allowed for the aggregator.
	lifetime = 10 * time.Second
	// maxCertificates is the size of the cache.
	maxCertificates = 1000
)

// Authenticator caches which certificates were accepted, and for which user. It is safe for concurrent use.
type Authenticator struct {
	next    authenticator.Request
	proxy   authenticator.Request // accepts the certificate of the aggregator
	headers authenticator.Request // reads the user of a request from the aggregator
	bundles func() []byte
	clock   clock.PassiveClock
	// results is keyed by the *x509.Certificate, which crypto/tls shares between requests and connections.
	results *cache.LRUExpireCache
}

// result is what is known about a certificate.
type result struct {
	expires time.Time
	// bundles are the CA bundles that it was verified with.
	bundles []byte
	// aggregator reports whether it belongs to the aggregator, which names the user in headers.
	aggregator bool
	// own is the response of next to a request without such headers; nil if it is not known.
	own *authenticator.Response
}

// New returns an authenticator with the same responses as next.
//
//   - next is the library's, for proxy, the client CAs and tokens.
//   - proxy identifies the aggregator; nil: there is none.
//   - bundles returns all CA bundles, in PEM, that certificates are currently verified with.
func New(
	next authenticator.Request, proxy *authenticatorfactory.RequestHeaderConfig, bundles func() []byte, c clock.PassiveClock,
) *Authenticator {
	a := &Authenticator{next: next, bundles: bundles, clock: c, results: cache.NewLRUExpireCacheWithClock(maxCertificates, c)}
	if proxy != nil {
		accept := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{}}, true, nil
		})
		a.proxy = x509request.NewDynamicCAVerifier(proxy.CAContentProvider.VerifyOptions, accept, proxy.AllowedClientNames)
		a.headers = group.NewAuthenticatedGroupAdder(headerrequest.NewDynamic(proxy.UsernameHeaders, proxy.UIDHeaders, proxy.GroupHeaders,
			proxy.ExtraHeaderPrefixes))
	}
	return a
}

// AuthenticateRequest implements authenticator.Request.
func (a *Authenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	certificate := certificateOf(r)
	if certificate == nil {
		return a.next.AuthenticateRequest(r)
	}
	known := a.result(r, certificate)
	if known.aggregator {
		if response, ok, err := a.headers.AuthenticateRequest(r); ok || err != nil {
			return response, ok, err
		}
	}
	if hasToken(r) { // next caches tokens
		return a.next.AuthenticateRequest(r)
	}
	if known.own != nil {
		return known.own, true, nil
	}
	response, ok, err := a.next.AuthenticateRequest(r)
	if ok && err == nil {
		known.own = response
		a.remember(certificate, known)
	}
	return response, ok, err
}

// IsAggregator reports whether the request has the client certificate of the aggregator.
func (a *Authenticator) IsAggregator(r *http.Request) bool {
	if certificate := certificateOf(r); certificate != nil {
		return a.result(r, certificate).aggregator
	}
	return a.verifiesProxy(r)
}

// result returns what is known about the certificate of a request, which it verifies if nothing is.
func (a *Authenticator) result(r *http.Request, certificate *x509.Certificate) result {
	bundles := a.bundles()
	if cached, ok := a.results.Get(certificate); ok && bytes.Equal(cached.(result).bundles, bundles) {
		return cached.(result)
	}
	fresh := result{expires: a.clock.Now().Add(lifetime), bundles: bundles, aggregator: a.verifiesProxy(r)}
	if certificate.NotAfter.Before(fresh.expires) {
		fresh.expires = certificate.NotAfter
	}
	if fresh.aggregator {
		a.remember(certificate, fresh)
	}
	return fresh
}

// remember caches the result of a certificate that was accepted; others cannot fill the cache.
func (a *Authenticator) remember(certificate *x509.Certificate, known result) {
	a.results.Add(certificate, known, known.expires.Sub(a.clock.Now()))
}

func (a *Authenticator) verifiesProxy(r *http.Request) bool {
	if a.proxy == nil {
		return false
	}
	_, ok, err := a.proxy.AuthenticateRequest(r)
	return ok && err == nil
}

// certificateOf returns the certificate of the client. One that is sent with intermediate certificates is left to the library.
func certificateOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.PeerCertificates) != 1 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

// hasToken reports whether the request may have a token, in either place where the library reads one.
func hasToken(r *http.Request) bool {
	return len(r.Header["Authorization"]) > 0 || len(r.Header["Sec-Websocket-Protocol"]) > 0
}
