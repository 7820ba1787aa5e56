// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"
)

func TestHostCAs(t *testing.T) {
	both := map[string]string{"client-ca-file": "clients\n", "requestheader-client-ca-file": "\nproxy\n", "requestheader-allowed-names": "[]"}
	for name, test := range map[string]struct {
		data                map[string]string
		clientCA, requestCA string // flags
		want                []string
	}{
		"both":                     {data: both, want: []string{"clients", "proxy"}},
		"clients' from a file":     {data: both, clientCA: "ca.crt", want: []string{"proxy"}},
		"the proxy's from a file":  {data: both, requestCA: "ca.crt", want: []string{"clients"}},
		"a host without client CA": {data: map[string]string{"requestheader-client-ca-file": "proxy"}, want: []string{"proxy"}},
	} {
		t.Run(name, func(t *testing.T) {
			host := fake.NewClientset(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"}, Data: test.data,
			})
			o := genericoptions.NewDelegatingAuthenticationOptions()
			o.ClientCert.ClientCA, o.RequestHeader.ClientCAFile = test.clientCA, test.requestCA
			a, err := hostCAs(t.Context(), host, o, nil)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Sort(a.wanted); !slices.Equal(a.wanted, test.want) {
				t.Errorf("waits for %q, want %q", a.wanted, test.want)
			}
		})
	}
	if _, err := hostCAs(t.Context(), fake.NewClientset(), genericoptions.NewDelegatingAuthenticationOptions(), nil); err == nil {
		t.Error("a host without the ConfigMap is no error")
	}
}

// TestRequestsWaitForCAs checks that an early request waits and is then authenticated, and that a canceled one does not wait.
func TestRequestsWaitForCAs(t *testing.T) {
	var loaded atomic.Value
	loaded.Store("clients")
	a := &clientCAs{wanted: []string{"clients", "proxy"}, loaded: func() []byte { return []byte(loaded.Load().(string)) }}
	judged := make(chan string, 2)
	next := a.before(authenticator.RequestFunc(func(request *http.Request) (*authenticator.Response, bool, error) {
		judged <- loaded.Load().(string)
		return &authenticator.Response{User: &user.DefaultInfo{Name: "alice"}}, true, nil
	}))
	request := func(ctx context.Context) {
		response, ok, err := next.AuthenticateRequest(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		if err != nil || !ok || response.User.GetName() != "alice" {
			t.Errorf("the response is changed: %v, %v, %v", response, ok, err)
		}
	}
	done := make(chan struct{})
	go func() { defer close(done); request(t.Context()) }()

	canceled, leave := context.WithCancel(t.Context())
	leave()
	request(canceled)
	if saw := <-judged; saw != "clients" {
		t.Errorf("a canceled request was authenticated with %q", saw)
	}
	loaded.Store("clients\nproxy")
	<-done
	if saw := <-judged; saw != "clients\nproxy" {
		t.Errorf("judged with %q", saw)
	}
	loaded.Store("rotated")
	request(t.Context())
}

// sources counts how often it is queried, and can change while it is.
type sources struct {
	dynamiccertificates.CAContentProvider
	requests  int
	meanwhile func()
}

func (s *sources) CurrentCABundleContent() []byte {
	s.requests++
	content := s.CAContentProvider.CurrentCABundleContent()
	if s.meanwhile != nil {
		s.meanwhile()
	}
	return content
}

// TestBundleOf checks that a bundle is joined once, and again when the content of a source changes, even while it is being joined.
func TestBundleOf(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	writeCertificate := func(name string) {
		t.Helper()
		certificate, _, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, certificate, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	writeCertificate("first.example")
	clients, err := dynamiccertificates.NewDynamicCAContentFromFile("clients", file)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := dynamiccertificates.NewStaticCAContent("proxy", clients.CurrentCABundleContent())
	if err != nil {
		t.Fatal(err)
	}
	all := dynamiccertificates.NewUnionCAContentProvider(clients, proxy)
	s := &sources{CAContentProvider: all}
	content := bundleOf(s)
	read := func() string { return string(content()) }
	want := func() string { return string(all.CurrentCABundleContent()) }
	for range 3 {
		if read() != want() {
			t.Error("the bundle is not that of its sources")
		}
	}
	if s.requests != 1 {
		t.Errorf("joined %d times, not once", s.requests)
	}
	reload := func() {
		if err := clients.RunOnce(t.Context()); err != nil {
			t.Error(err)
		}
	}
	writeCertificate("second.example")
	reload()
	s.meanwhile = func() {
		s.meanwhile = nil
		writeCertificate("third.example")
		reload()
	}
	second := want()
	if read() != second {
		t.Error("the bundle is not the second one")
	}
	if read() == second || read() != want() {
		t.Error("the bundle is not the third one, which came while the second one was being joined")
	}
}
