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
		silent        bool
	}{
		"expired token":      {apierrors.NewUnauthorized("hunter2"), gimbalv1.ErrorAuthentication, "rejects the credentials", false},
		"expired client":     {&url.Error{Op: "Get", URL: "https://h", Err: tls.AlertError(45)}, gimbalv1.ErrorAuthentication, "rejects the credentials", false},
		"no permissions":     {apierrors.NewForbidden(services, "", errors.New("hunter2")), gimbalv1.ErrorAuthentication, "may not list", false},
		"refused":            {rejected(1), gimbalv1.ErrorConnection, "rejects connections", true},
		"timeout":            {&url.Error{Op: "Get", URL: "https://h", Err: context.DeadlineExceeded}, gimbalv1.ErrorConnection, "before the timeout", true},
		"unknown host":       {&url.Error{Op: "Get", URL: "https://h", Err: &net.DNSError{Name: "h"}}, gimbalv1.ErrorConnection, "cannot be resolved", true},
		"unknown authority":  {&url.Error{Op: "Get", URL: "https://h", Err: x509.UnknownAuthorityError{}}, gimbalv1.ErrorConnection, "unknown authority", false},
		"another host":       {&url.Error{Op: "Get", URL: "https://h", Err: x509.HostnameError{Certificate: &x509.Certificate{}, Host: "h"}}, gimbalv1.ErrorConnection, "another host", false},
		"expired server":     {x509.CertificateInvalidError{Reason: x509.Expired}, gimbalv1.ErrorConnection, "not valid", false},
		"the server is sick": {apierrors.NewInternalError(errors.New("hunter2")), gimbalv1.ErrorConnection, "status 500", false},
		"a redirect":         {&url.Error{Op: "Get", URL: "https://h", Err: &client.RedirectError{To: "http://other/login"}}, gimbalv1.ErrorConnection, "redirects to http://other/login", false},
		"anything":           {errors.New("hunter2"), gimbalv1.ErrorConnection, "does not respond", false},
	} {
		got := Classify(tc.err)
		if got == nil || got.Type != tc.kind || !strings.Contains(got.Message, tc.message) || strings.Contains(got.Message, "hunter2") {
			t.Errorf("%s: got %v", name, got)
		}
		if isSilent(tc.err) != tc.silent {
			t.Errorf("%s: silent: %t", name, !tc.silent)
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
	u, err := New(Options{Backend: "us", Client: clienttest.Client{Clientset: w.there}, Watching: clienttest.Client{Clientset: w.there}})
	if err != nil {
		t.Fatal(err)
	}
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
