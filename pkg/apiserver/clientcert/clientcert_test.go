// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clientcert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	clocktesting "k8s.io/utils/clock/testing"
)

// testCA signs certificates of clients.
type testCA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

func newCA(t testing.TB, name string) *testCA {
	t.Helper()
	a := &testCA{key: newKey(t)}
	a.certificate = a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true}, time.Now().Add(time.Hour), a.key)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *testCA) sign(t testing.TB, template *x509.Certificate, until time.Time, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	a.serial++
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(a.serial), time.Now().Add(-time.Minute), until
	parent := a.certificate
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// client returns the certificate of a client.
func (a *testCA) client(t testing.TB, name string, until time.Time) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"gardeners"}}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	return a.sign(t, template, until, newKey(t))
}

func (a *testCA) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// bundle is a bundle of CAs that may change, and counts who verifies by it.
type bundle struct {
	dynamiccertificates.CAContentProvider
	verified int
}

func (b *bundle) VerifyOptions() (x509.VerifyOptions, bool) {
	b.verified++
	return b.CAContentProvider.VerifyOptions()
}

func (b *bundle) set(t testing.TB, a *testCA) {
	t.Helper()
	static, err := dynamiccertificates.NewStaticCAContent("test", a.pem())
	if err != nil {
		t.Fatal(err)
	}
	b.CAContentProvider = static
}

// world is a server with the library's authenticator, and that of Groundskeeper before it.
type world struct {
	testing.TB
	clients, proxies *testCA
	clientBundle     bundle
	proxyBundle      bundle
	clock            *clocktesting.FakePassiveClock
	library          authenticator.Request
	verifications    int // how often the library was
	*Authenticator
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, clients: newCA(t, "clients"), proxies: newCA(t, "proxies"), clock: clocktesting.NewFakePassiveClock(time.Now())}
	w.clientBundle.set(t, w.clients)
	w.proxyBundle.set(t, w.proxies)
	names := func(names ...string) headerrequest.StringSliceProvider { return headerrequest.StaticStringSlice(names) }
	proxy := &authenticatorfactory.RequestHeaderConfig{
		UsernameHeaders: names("X-Remote-User"), UIDHeaders: names("X-Remote-Uid"), GroupHeaders: names("X-Remote-Group"), ExtraHeaderPrefixes: names("X-Remote-Extra-"),
		CAContentProvider: &w.proxyBundle, AllowedClientNames: names("aggregator"),
	}
	var err error
	w.library, _, err = authenticatorfactory.DelegatingAuthenticatorConfig{RequestHeaderConfig: proxy, ClientCertificateCAContentProvider: &w.clientBundle}.New()
	if err != nil {
		t.Fatal(err)
	}
	next := authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		w.verifications++
		return w.library.AuthenticateRequest(r)
	})
	w.Authenticator = New(next, proxy, func() []byte {
		return bytes.Join([][]byte{w.clientBundle.CurrentCABundleContent(), w.proxyBundle.CurrentCABundleContent()}, nil)
	}, w.clock)
	return w
}

// request returns a new one, with certificates and headers.
func request(headers map[string]string, certificates ...*x509.Certificate) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "https://server/", nil)
	r.TLS = &tls.ConnectionState{PeerCertificates: certificates}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return r
}

// verdict returns a response as text.
func verdict(response *authenticator.Response, ok bool, err error) string {
	if err != nil || !ok {
		return fmt.Sprintf("%v, %v", ok, err)
	}
	return fmt.Sprintf("%s %s %v %v", response.User.GetName(), response.User.GetUID(), response.User.GetGroups(), response.User.GetExtra())
}

// want authenticates a request, and compares the number of calls of the library and of verifications of certificates.
func (w *world) want(headers map[string]string, user string, verifications, verified int, certificates ...*x509.Certificate) {
	w.Helper()
	w.verifications, w.clientBundle.verified, w.proxyBundle.verified = 0, 0, 0
	response, ok, err := w.AuthenticateRequest(request(headers, certificates...))
	name := ""
	if ok && err == nil {
		name = response.User.GetName()
	}
	got := fmt.Sprintf("%s, queried %d, verified %d", name, w.verifications, w.clientBundle.verified+w.proxyBundle.verified)
	if want := fmt.Sprintf("%s, queried %d, verified %d", user, verifications, verified); got != want {
		w.Errorf("%v: %s, want %s (%v)", headers, got, want, err)
	}
}

// TestRespondsLikeTheLibrary checks that the responses to any sequence of requests are those of the library.
func TestRespondsLikeTheLibrary(t *testing.T) {
	w := newWorld(t)
	later := time.Now().Add(time.Hour)
	own, other := w.clients.client(t, "alice", later), newCA(t, "clients").client(t, "mallory", later)
	for _, headers := range []map[string]string{
		nil,
		{"X-Remote-User": "bob", "X-Remote-Group": "friends", "X-Remote-Uid": "7", "X-Remote-Extra-Scope": "all"},
		{"X-Remote-User": "eve", "X-Remote-Group": "system:authenticated"},
		{"X-Remote-Group": "system:masters"},
		{"Authorization": "Bearer secret"},
		{"Sec-Websocket-Protocol": "base64url.bearer.authorization.k8s.io.c2VjcmV0"},
	} {
		for name, certificates := range map[string][]*x509.Certificate{
			"none":                 nil,
			"a client's":           {own},
			"a stranger's":         {other},
			"the aggregator's":     {w.proxies.client(t, "aggregator", later)},
			"another proxy's":      {w.proxies.client(t, "somebody", later)},
			"one that has ended":   {w.clients.client(t, "alice", time.Now().Add(-time.Second))},
			"one without a name":   {w.clients.client(t, "", later)},
			"one with another one": {own, w.clients.certificate},
		} {
			for range 2 {
				got := verdict(w.AuthenticateRequest(request(headers, certificates...)))
				if diff := cmp.Diff(verdict(w.library.AuthenticateRequest(request(headers, certificates...))), got); diff != "" {
					t.Errorf("%v with certificate %s (-the library +Groundskeeper's):\n%s", headers, name, diff)
				}
			}
		}
	}
	withoutTLS := httptest.NewRequest(http.MethodGet, "http://server/", nil)
	if got := verdict(w.AuthenticateRequest(withoutTLS)); got != "false, <nil>" {
		t.Errorf("without TLS: %s", got)
	}
}

func TestCachesVerification(t *testing.T) {
	w := newWorld(t)
	later := time.Now().Add(time.Hour)
	alice, aggregator := w.clients.client(t, "alice", later), w.proxies.client(t, "aggregator", later)
	bob, eve := map[string]string{"X-Remote-User": "bob"}, map[string]string{"X-Remote-User": "eve"}
	for range 2 {
		w.want(nil, "alice", 1, 3, alice) // by Groundskeeper's, and by both of the library's
		w.want(bob, "bob", 0, 1, aggregator)
		for range 3 {
			w.want(nil, "alice", 0, 0, alice)
			w.want(bob, "alice", 0, 0, alice) // the header of a client that is not the front proxy is ignored
			w.want(bob, "bob", 0, 0, aggregator)
			w.want(eve, "eve", 0, 0, aggregator)
		}
		w.clock.SetTime(w.clock.Now().Add(lifetime + 1))
	}
}

func TestChangedBundleInvalidatesCache(t *testing.T) {
	w := newWorld(t)
	later := time.Now().Add(time.Hour)
	alice, aggregator := w.clients.client(t, "alice", later), w.proxies.client(t, "aggregator", later)
	bob := map[string]string{"X-Remote-User": "bob"}
	w.want(nil, "alice", 1, 3, alice)
	w.want(bob, "bob", 0, 1, aggregator)
	w.clientBundle.set(t, newCA(t, "new clients"))
	w.want(nil, "", 1, 3, alice)
	w.want(bob, "bob", 0, 1, aggregator)
	w.proxyBundle.set(t, newCA(t, "new proxies"))
	w.want(bob, "", 1, 3, aggregator)
	if w.IsAggregator(request(nil, aggregator)) {
		t.Error("is taken for the aggregator")
	}
}

func TestExpiryInvalidatesCachedCertificate(t *testing.T) {
	w := newWorld(t)
	end := w.clock.Now().Add(30 * time.Minute).Truncate(time.Second) // the library checks a dedicated clock
	alice := w.clients.client(t, "alice", end)
	w.clock.SetTime(end.Add(-2 * time.Second))
	w.want(nil, "alice", 1, 3, alice)
	w.clock.SetTime(end)
	w.want(nil, "alice", 0, 0, alice)
	w.clock.SetTime(end.Add(1))
	w.want(nil, "alice", 1, 3, alice)
}

// TestTokensAreNotRemembered checks that a token is checked each time, and that its user is not mistaken for the owner of the
// certificate afterwards.
func TestTokensAreNotRemembered(t *testing.T) {
	w := newWorld(t)
	stranger := newCA(t, "others").client(t, "mallory", time.Now().Add(time.Hour))
	w.library = authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		return &authenticator.Response{User: &user.DefaultInfo{Name: "bearer"}}, r.Header.Get("Authorization") != "", nil
	})
	for range 2 {
		if _, ok, _ := w.AuthenticateRequest(request(map[string]string{"Authorization": "Bearer secret"}, stranger)); !ok {
			t.Error("a token is not accepted")
		}
		if _, ok, _ := w.AuthenticateRequest(request(nil, stranger)); ok {
			t.Error("a certificate counts as the token that came with it once")
		}
	}
}

// TestChainsAreNotRemembered checks that a certificate that was accepted with an intermediate certificate is not accepted without
// it.
func TestChainsAreNotRemembered(t *testing.T) {
	w := newWorld(t)
	later := time.Now().Add(time.Hour)
	branch := &testCA{key: newKey(t)}
	branch.certificate = w.clients.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "branch"}, IsCA: true, BasicConstraintsValid: true}, later, branch.key)
	alice := branch.client(t, "alice", later)
	for range 2 {
		w.want(nil, "alice", 1, 2, alice, branch.certificate)
		w.want(nil, "", 1, 3, alice)
	}
}

func TestIsAggregator(t *testing.T) {
	w := newWorld(t)
	later := time.Now().Add(time.Hour)
	aggregator := w.proxies.client(t, "aggregator", later)
	for name, test := range map[string]struct {
		certificates []*x509.Certificate
		want         bool
	}{
		"nobody":             {nil, false},
		"the aggregator":     {[]*x509.Certificate{aggregator}, true},
		"with its CA":        {[]*x509.Certificate{aggregator, w.proxies.certificate}, true},
		"a name not allowed": {[]*x509.Certificate{w.proxies.client(t, "somebody", later)}, false},
		"a client":           {[]*x509.Certificate{w.clients.client(t, "aggregator", later)}, false},
	} {
		for range 2 {
			if got := w.IsAggregator(request(nil, test.certificates...)); got != test.want {
				t.Errorf("%s: %v", name, got)
			}
		}
	}
	if New(w.library, nil, func() []byte { return nil }, w.clock).IsAggregator(request(nil, aggregator)) {
		t.Error("a client is the aggregator where there is none")
	}
}

func TestCacheIsBounded(t *testing.T) {
	w := newWorld(t)
	for range maxCertificates + 1 {
		w.remember(&x509.Certificate{}, result{expires: w.clock.Now().Add(lifetime)})
	}
	if got := len(w.results.Keys()); got != maxCertificates {
		t.Errorf("cached certificates = %d, want %d", got, maxCertificates)
	}
	w = newWorld(t)
	unknown := newCA(t, "others").client(t, "mallory", time.Now().Add(time.Hour))
	_, _, _ = w.AuthenticateRequest(request(nil, unknown))
	if got := len(w.results.Keys()); got != 0 {
		t.Errorf("cached certificates = %d, want none: no CA has signed it", got)
	}
}

// BenchmarkAuthenticateRequest authenticates with a certificate that was verified already.
func BenchmarkAuthenticateRequest(b *testing.B) {
	w := newWorld(b)
	later := time.Now().Add(time.Hour)
	for name, bench := range map[string]struct {
		certificate *x509.Certificate
		headers     map[string]string
	}{
		"client":     {w.clients.client(b, "alice", later), nil},
		"aggregator": {w.proxies.client(b, "aggregator", later), map[string]string{"X-Remote-User": "bob", "X-Remote-Group": "friends"}},
	} {
		b.Run(name, func(b *testing.B) {
			r := request(bench.headers, bench.certificate)
			headers := r.Header.Clone()
			b.ReportAllocs()
			for b.Loop() {
				r.Header = headers.Clone() // those of the aggregator are removed
				if _, ok, err := w.AuthenticateRequest(r); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}
