// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package clientcert authenticates clients by their certificates without verifying the same one again for each request.
// The library does, and on a connection with many requests that is a seventh of what the server does at all.
package clientcert

import (
	"bytes"
	"crypto/x509"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/utils/clock"
)

const (
	// lifetime is how long an answer is taken for true, as that about a token is (the library's CacheTTL). A certificate
	// that ends, or another bundle of authorities, ends it at once; a name that is no longer allowed to the aggregator does
	// not.
	lifetime = 10 * time.Second
	// most is how many certificates are remembered. Beyond it all are forgotten: nobody has that many at once.
	most = 1000
)

// Authenticator remembers which certificates were accepted, and as whose. It is safe for concurrent use.
type Authenticator struct {
	next        authenticator.Request
	proxy       authenticator.Request // accepts the aggregator's certificate
	headers     authenticator.Request // reads whom the aggregator speaks for
	authorities func() []byte
	clock       clock.PassiveClock

	mu    sync.RWMutex
	known map[string]*answer // by the certificate in DER
}

// answer is what is known of a certificate.
type answer struct {
	until       time.Time
	authorities []byte
	// aggregator says that it speaks for others, whom headers name.
	aggregator bool
	// own is what next answers when no header names anybody; nil when that is not known.
	own *authenticator.Response
}

// New returns an authenticator that answers as next does.
//
//   - next is the library's, made of proxy, the client authorities and tokens.
//   - proxy says who the aggregator is, nil for nobody.
//   - authorities returns the bundle of all authorities, in PEM, that certificates are verified by at the moment.
func New(next authenticator.Request, proxy *authenticatorfactory.RequestHeaderConfig, authorities func() []byte, c clock.PassiveClock) *Authenticator {
	a := &Authenticator{next: next, authorities: authorities, clock: c, known: map[string]*answer{}}
	if proxy != nil {
		anybody := authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{}}, true, nil
		})
		a.proxy = x509request.NewDynamicCAVerifier(proxy.CAContentProvider.VerifyOptions, anybody, proxy.AllowedClientNames)
		a.headers = group.NewAuthenticatedGroupAdder(headerrequest.NewDynamic(proxy.UsernameHeaders, proxy.UIDHeaders, proxy.GroupHeaders, proxy.ExtraHeaderPrefixes))
	}
	return a
}

// AuthenticateRequest implements authenticator.Request.
func (a *Authenticator) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	certificate := certificateOf(r)
	if certificate == nil {
		return a.next.AuthenticateRequest(r)
	}
	known := a.answer(r, certificate)
	if known.aggregator {
		if response, ok, err := a.headers.AuthenticateRequest(r); ok || err != nil {
			return response, ok, err
		}
	}
	if carriesToken(r) { // next has a memory for tokens
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

// IsAggregator says whether the request has the client certificate of the aggregator.
func (a *Authenticator) IsAggregator(r *http.Request) bool {
	certificate := certificateOf(r)
	if certificate == nil {
		return a.verifiesProxy(r)
	}
	return a.answer(r, certificate).aggregator
}

// answer returns what is known of the certificate of a request. It verifies one that is not known.
func (a *Authenticator) answer(r *http.Request, certificate *x509.Certificate) answer {
	now, authorities := a.clock.Now(), a.authorities()
	a.mu.RLock()
	known := a.known[string(certificate.Raw)]
	a.mu.RUnlock()
	if known != nil && now.Before(known.until) && bytes.Equal(known.authorities, authorities) {
		return *known
	}
	fresh := answer{until: now.Add(lifetime), authorities: authorities, aggregator: a.verifiesProxy(r)}
	if certificate.NotAfter.Before(fresh.until) {
		fresh.until = certificate.NotAfter
	}
	if fresh.aggregator {
		a.remember(certificate, fresh)
	}
	return fresh
}

// remember keeps an answer. Only certificates that were accepted have one: strangers cannot fill the memory.
func (a *Authenticator) remember(certificate *x509.Certificate, known answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= most {
		clear(a.known)
	}
	a.known[string(certificate.Raw)] = &known
}

func (a *Authenticator) verifiesProxy(r *http.Request) bool {
	if a.proxy == nil {
		return false
	}
	_, ok, err := a.proxy.AuthenticateRequest(r)
	return ok && err == nil
}

// certificateOf returns the certificate of the client. One that comes with others, which it needs to be verified, is left
// to the library.
func certificateOf(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.PeerCertificates) != 1 {
		return nil
	}
	return r.TLS.PeerCertificates[0]
}

// carriesToken says whether the request may be somebody's by a token, in either place where the library looks for one.
func carriesToken(r *http.Request) bool {
	return len(r.Header["Authorization"]) > 0 || len(r.Header["Sec-Websocket-Protocol"]) > 0
}
