// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ktesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/remote/client"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

func TestClassify(t *testing.T) {
	rejected := func(port int) error {
		return &url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "dial", Net: "tcp", Source: &net.TCPAddr{Port: port}, Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}}
	}
	services := schema.GroupResource{Resource: "services"}
	for name, tc := range map[string]struct {
		err           error
		kind, message string
		response      report.Response
	}{
		"expired token":      {apierrors.NewUnauthorized("hunter2"), gimbalv1.ErrorAuthentication, "rejects the credentials", report.Responded},
		"expired client":     {&url.Error{Op: "Get", URL: "https://h", Err: tls.AlertError(45)}, gimbalv1.ErrorAuthentication, "rejects the credentials", report.Unclear},
		"no permissions":     {apierrors.NewForbidden(services, "", errors.New("hunter2")), gimbalv1.ErrorAuthentication, "may not list", report.Responded},
		"refused":            {rejected(1), gimbalv1.ErrorConnection, "rejects connections", report.Silent},
		"timeout":            {&url.Error{Op: "Get", URL: "https://h", Err: context.DeadlineExceeded}, gimbalv1.ErrorConnection, "before the timeout", report.Silent},
		"unknown host":       {&url.Error{Op: "Get", URL: "https://h", Err: &net.DNSError{Name: "h"}}, gimbalv1.ErrorConnection, "cannot be resolved", report.Unclear},
		"unknown authority":  {&url.Error{Op: "Get", URL: "https://h", Err: x509.UnknownAuthorityError{}}, gimbalv1.ErrorConnection, "unknown authority", report.Unclear},
		"another host":       {&url.Error{Op: "Get", URL: "https://h", Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}}, gimbalv1.ErrorConnection, "another host", report.Unclear},
		"expired server":     {x509.CertificateInvalidError{Reason: x509.Expired}, gimbalv1.ErrorConnection, "not valid", report.Unclear},
		"the server is sick": {apierrors.NewInternalError(errors.New("hunter2")), gimbalv1.ErrorConnection, "status 500", report.Responded},
		"too many requests":  {fmt.Errorf("get: %w", apierrors.NewTooManyRequests("hunter2", 1)), gimbalv1.ErrorRateLimited, "rejects requests because there are too many", report.Limited},
		"a redirect":         {&url.Error{Op: "Get", URL: "https://h", Err: &client.RedirectError{To: "http://other/login"}}, gimbalv1.ErrorConnection, "redirects to http://other/login", report.Unclear},
		"a header":           {&url.Error{Op: "Get", URL: "https://h", Err: errors.New(`net/http: invalid header field value for "Authorization"`)}, gimbalv1.ErrorAuthentication, "cannot be sent in an HTTP header", report.Unclear},
		"a proxy":            {&url.Error{Op: "Get", URL: "https://h", Err: &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}}, gimbalv1.ErrorConnection, "by way of the proxy", report.Unclear},
		"no TLS":             {&url.Error{Op: "Get", URL: "https://h", Err: tls.RecordHeaderError{}}, gimbalv1.ErrorConnection, "does not respond with TLS", report.Unclear},
		"reset":              {&url.Error{Op: "Get", URL: "https://h", Err: syscall.ECONNRESET}, gimbalv1.ErrorConnection, "does not respond:", report.Silent},
		"anything":           {errors.New("hunter2"), gimbalv1.ErrorConnection, "see the log of the discoverer", report.Unclear},
	} {
		got := Classify(tc.err)
		if got == nil || got.Type != tc.kind || !strings.Contains(got.Message, tc.message) || strings.Contains(got.Message, "hunter2") {
			t.Errorf("%s: got %v", name, got)
		}
		if got := responseOf(tc.err); got != tc.response {
			t.Errorf("%s: response = %d, want %d", name, got, tc.response)
		}
	}
	if Classify(nil) != nil {
		t.Error("nothing is wrong")
	}
	if *Classify(rejected(1)) != *Classify(rejected(2)) {
		t.Error("the message has the port in it")
	}
}

// A failure of a backend is reported at the next query, and so is its recovery.
func TestProbe(t *testing.T) {
	w := newWorld(t, nil, nil)
	u := New(Options{Backend: "us", Client: clienttest.Client{Clientset: w.there}, Watching: clienttest.Client{Clientset: w.there}, Contact: func(report.Response) {}})
	requests := 0
	w.there.PrependReactor("list", "endpointslices", func(ktesting.Action) (bool, runtime.Object, error) {
		if requests++; requests == 2 {
			return true, nil, apierrors.NewUnauthorized("expired")
		}
		return false, nil, nil
	})
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	ctx, cancel := context.WithCancel(t.Context())
	var reported []*report.Problem
	u.Probe(ctx, clock, time.Minute, func(problem *report.Problem) {
		reported = append(reported, problem)
		if len(reported) == 3 {
			cancel()
		}
		clock.Step(time.Minute)
	})
	if len(reported) != 3 || reported[0] != nil || reported[1] == nil || reported[1].Type != gimbalv1.ErrorAuthentication || reported[2] != nil {
		t.Error(reported)
	}
}
